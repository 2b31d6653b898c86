import { readPartHeaders, MultipartError } from './multipart-headers.ts'
import type { MultipartOptions, MultipartPart, MultipartPartHead, MultipartResult } from './multipart-scan.ts'

const headerBytesMax = 16_384
const carriageReturn = 0x0d
const lineFeed = 0x0a
const dash = 0x2d
const noBytes = Buffer.alloc(0)
/** Longer than any boundary with the bytes before it. */
const seamBytes = 1024
/** How much is kept of the content of a file, of a field, and of all fields together. */
const fileHeadBytes = 4096
const fieldHeadBytes = 65_537
const headBytesTotalMax = 4 * 1_048_576

type State = 'preamble' | 'boundary' | 'padding' | 'lastPadding' | 'headers' | 'content' | 'epilogue'

/**
 * Finds the parts of a form (RFC 7578), or of another multipart body, that arrives in chunks. Anything that parsers
 * read differently is refused, so that the provider sees the same parts. It holds no more than a boundary's length of
 * bytes, or a part's headers.
 */
export class MultipartScanner {
  readonly #needle: Buffer
  readonly #options: MultipartOptions
  readonly #isRelated: boolean
  readonly #partsMax: number
  /** The line end of the first boundary. */
  #lineBreak: '\r\n' | '\n' = '\r\n'
  readonly #parts: MultipartPart[] = []
  #state: State = 'preamble'
  /** Bytes that are not processed yet, and the offset of the first of them in the body. */
  #rest: Buffer = noBytes
  #restStart = 0
  /** Where in `#rest` the scan continues. */
  #position = 0
  #part: MultipartPartHead | undefined
  #head: Buffer[] = []
  #headBytes = 0
  #headBytesTotal = 0
  #failure: MultipartError | undefined

  constructor(boundary: string, options: MultipartOptions = {}) {
    this.#needle = Buffer.from(`\n--${boundary}`)
    this.#options = options
    this.#isRelated = options.isRelated ?? false
    this.#partsMax = options.partsMax ?? 1000
  }

  /** @throws MultipartError now and at every later call */
  push(chunk: Buffer): void {
    if (this.#failure !== undefined) throw this.#failure
    try {
      if (this.#rest.length === 0) this.#rest = chunk
      else if (chunk.length <= seamBytes) this.#rest = Buffer.concat([this.#rest, chunk])
      else this.#passSeam(chunk)
      while (this.#step());
    } catch (error) {
      if (error instanceof MultipartError) this.#failure = error
      throw error
    }
    this.#leave()
  }

  /** Joins only the first bytes of a long chunk to the earlier ones, so that the chunk need not be copied. */
  #passSeam(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk.subarray(0, seamBytes)])
    while (this.#step());
    this.#passOver(Math.max(0, this.#position - 1))
    const left = this.#rest.length
    if (left <= seamBytes) this.#rest = chunk.subarray(seamBytes - left)
    else this.#rest = Buffer.concat([this.#rest, chunk.subarray(seamBytes)])
  }

  /** @throws MultipartError */
  end(): MultipartResult {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#state === 'preamble') {
      throw new MultipartError(
        'boundary_missing',
        0,
        'The body does not hold the boundary that its content type names.',
      )
    }
    const isWhole =
      this.#state === 'epilogue' || (this.#state === 'lastPadding' && this.#position >= this.#rest.length)
    if (isWhole) return { parts: this.#parts }
    throw new MultipartError(
      'cut_off',
      this.#restStart + this.#rest.length,
      'The form ends before its closing boundary. Send the whole body.',
    )
  }

  /** Scans one element; false when it needs more bytes. */
  #step(): boolean {
    switch (this.#state) {
      case 'preamble':
      case 'content':
        return this.#findBoundary()
      case 'boundary':
        return this.#passBoundary()
      case 'padding':
      case 'lastPadding':
        return this.#passPadding()
      case 'headers':
        return this.#readHeaders()
      case 'epilogue':
        this.#position = this.#rest.length
        return false
    }
  }

  /** Finds the next boundary at the start of a line. */
  #findBoundary(): boolean {
    const rest = this.#rest
    const needle = this.#needle
    const isFirst = this.#state === 'preamble' && this.#restStart === 0 && this.#position === 0
    if (isFirst) {
      const line = needle.subarray(1)
      if (rest.length < line.length && line.subarray(0, rest.length).equals(rest)) return false
      if (rest.subarray(0, line.length).equals(line)) {
        this.#position = line.length
        this.#state = 'boundary'
        return true
      }
    }
    // Starts at the line break that ends the headers: some parsers accept a boundary right after it.
    const lineBreak = rest.indexOf(needle, Math.max(0, this.#position - 1))
    if (lineBreak === -1) {
      // The last bytes may be the start of a boundary, and the line break before it.
      this.#takeContent(Math.max(this.#position, rest.length - needle.length))
      return false
    }
    this.#takeContent(this.#contentEnd(lineBreak))
    this.#endPart()
    this.#position = lineBreak + needle.length
    this.#state = 'boundary'
    return true
  }

  /** Where the content ends before a boundary whose line feed is here. */
  #contentEnd(lineFeedAt: number): number {
    const at = this.#restStart + lineFeedAt
    const hasReturn = this.#rest[lineFeedAt - 1] === carriageReturn
    if (this.#isRelated && this.#state === 'preamble') {
      if (at === 0 || (at === 1 && hasReturn)) return 0
      throw this.#malformed(0, 'Something stands before the first boundary.')
    }
    const first = this.#part?.start ?? 0
    if (this.#lineBreak === '\n' && at >= first) return lineFeedAt
    if (this.#lineBreak === '\r\n' && hasReturn && at > first) return lineFeedAt - 1
    throw this.#malformed(lineFeedAt, 'A boundary stands without a CR LF of its own before it.')
  }

  /** Scans what follows a boundary: the end of the form, or a part. */
  #passBoundary(): boolean {
    const rest = this.#rest
    const at = this.#position
    if (rest.length === at || (rest[at] === dash && rest.length === at + 1)) return false
    if (rest[at] === dash && rest[at + 1] === dash) {
      this.#position = at + 2
      this.#state = 'lastPadding'
      return true
    }
    if (this.#parts.length >= this.#partsMax) {
      const message = `The form has more than ${this.#partsMax} parts. Send fewer.`
      throw new MultipartError('too_many_parts', this.#restStart + at, message)
    }
    this.#state = 'padding'
    return true
  }

  /** Scans the rest of a boundary's line: the padding that RFC 2046 allows, and the line end. */
  #passPadding(): boolean {
    const rest = this.#rest
    while (rest[this.#position] === 0x20 || rest[this.#position] === 0x09) this.#position++
    const at = this.#position
    if (at >= rest.length) return false
    const isFirst = this.#state === 'padding' && this.#parts.length === 0
    if (isFirst && this.#isRelated && rest[at] === lineFeed) this.#lineBreak = '\n'
    if (this.#lineBreak === '\r\n' && rest[at] === carriageReturn && at + 1 >= rest.length) return false
    if (startsWith(rest, this.#lineBreak, at)) {
      this.#position = at + this.#lineBreak.length
      this.#state = this.#state === 'padding' ? 'headers' : 'epilogue'
      return true
    }
    // RFC 2046 treats a longer line as the boundary; parsers disagree, so it is refused.
    throw this.#malformed(at, 'A line begins with the boundary and goes on. Choose another.')
  }

  #readHeaders(): boolean {
    const rest = this.#rest
    const at = this.#position
    if (rest.length < at + 2) return false
    const lineBreak = this.#lineBreak
    const isEmpty = startsWith(rest, lineBreak, at)
    const window = rest.subarray(at, at + headerBytesMax)
    const end = window.indexOf(lineBreak + lineBreak)
    if (!isEmpty && end === -1) {
      if (window.length < headerBytesMax) return false
      throw this.#malformed(at, `The headers of a part exceed ${headerBytesMax} bytes.`)
    }
    const content = isEmpty ? at + lineBreak.length : at + end + lineBreak.length * 2
    const kind = { isRelated: this.#isRelated, lineBreak }
    const headers = readPartHeaders(rest.toString('utf8', at, content), this.#restStart + at, kind)
    this.#part = { ...headers, start: this.#restStart + content }
    this.#options.onPart?.(this.#part)
    this.#position = content
    this.#state = 'content'
    return true
  }

  /** The bytes from here up to `end` belong to the part, or precede the first one. */
  #takeContent(end: number): void {
    const part = this.#part
    const bytes = this.#rest.subarray(this.#position, end)
    this.#position = Math.max(this.#position, end)
    if (part === undefined || bytes.length === 0) return
    this.#options.onContent?.(part, bytes)
    if (this.#isRelated) return
    const headMax = part.filename === undefined ? fieldHeadBytes : fileHeadBytes
    const wanted = Math.min(headMax - this.#headBytes, headBytesTotalMax - this.#headBytesTotal)
    if (wanted <= 0) return
    const kept = Buffer.from(bytes.subarray(0, wanted))
    this.#head.push(kept)
    this.#headBytes += kept.length
    if (part.filename === undefined) this.#headBytesTotal += kept.length
  }

  #endPart(): void {
    if (this.#part === undefined) return
    this.#parts.push({
      ...this.#part,
      end: this.#restStart + this.#position,
      head: this.#head.length === 1 ? (this.#head[0] as Buffer) : Buffer.concat(this.#head),
    })
    this.#part = undefined
    this.#head = []
    this.#headBytes = 0
  }

  /** Keeps a copy of the bytes that may belong to a boundary or to headers, before the chunk is released. */
  #leave(): void {
    // A boundary's line break may start at the last byte that was scanned.
    this.#passOver(Math.max(0, this.#position - 1))
    this.#rest = this.#rest.length === 0 ? noBytes : Buffer.from(this.#rest)
  }

  #passOver(bytes: number): void {
    this.#rest = this.#rest.subarray(bytes)
    this.#restStart += bytes
    this.#position -= bytes
  }

  #malformed(at: number, message: string): MultipartError {
    return new MultipartError('malformed', this.#restStart + at, message)
  }
}

function startsWith(bytes: Buffer, text: string, at: number): boolean {
  return bytes.toString('latin1', at, at + text.length) === text
}
