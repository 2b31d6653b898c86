import { MultipartError } from './multipart-error.ts'
import { readPartHeaders } from './multipart-headers.ts'
import type { MultipartOptions, MultipartPart, MultipartPartHead, MultipartResult } from './multipart-scan.ts'

const headerBytesMax = 16_384
const carriageReturn = 0x0d
const lineFeed = 0x0a
const dash = 0x2d
const headersEnd = Buffer.from('\r\n\r\n')
const noBytes = Buffer.alloc(0)
/** Longer than any boundary with what stands before it. */
const seamBytes = 1024
/** What is kept of the content of a file, of a field, and of all fields together. */
const fileHeadBytes = 4096
const fieldHeadBytes = 65_537
const headBytesTotalMax = 4 * 1_048_576

type State = 'preamble' | 'boundary' | 'padding' | 'lastPadding' | 'headers' | 'content' | 'epilogue'

/**
 * Finds the parts of a form (RFC 7578) that comes in chunks. Whatever parsers read differently is refused, so
 * that the provider sees the same parts. What is held is a boundary's length of bytes, or a part's headers.
 */
export class MultipartScanner {
  readonly #needle: Buffer
  readonly #partsMax: number
  readonly #onContent: MultipartOptions['onContent']
  readonly #parts: MultipartPart[] = []
  #state: State = 'preamble'
  /** Bytes that came and are not done with, and where the first of them stands in the body. */
  #rest: Buffer = noBytes
  #restStart = 0
  /** Where in `#rest` the scan goes on. */
  #position = 0
  #part: MultipartPartHead | undefined
  #head: Buffer[] = []
  #headBytes = 0
  #headBytesTotal = 0
  #failure: MultipartError | undefined

  constructor(boundary: string, { partsMax = 1000, onContent }: MultipartOptions = {}) {
    this.#needle = Buffer.from(`\n--${boundary}`)
    this.#partsMax = partsMax
    this.#onContent = onContent
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

  /** Of a long chunk only its first bytes are joined to what came before, so that it need not be copied. */
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

  /** Goes on by one element; false when it needs more bytes. */
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

  /** The next boundary that begins a line. */
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
    // From the line break that ends the headers on: some parsers take a boundary right behind it.
    const lineBreak = rest.indexOf(needle, Math.max(0, this.#position - 1))
    if (lineBreak === -1) {
      // The last bytes may be the beginning of a boundary, and the line break before it.
      this.#takeContent(Math.max(this.#position, rest.length - needle.length))
      return false
    }
    const first = this.#part?.start ?? 0
    if (rest[lineBreak - 1] !== carriageReturn || this.#restStart + lineBreak <= first) {
      throw this.#malformed(lineBreak, 'A boundary stands without a CR LF of its own before it.')
    }
    this.#takeContent(lineBreak - 1)
    this.#endPart()
    this.#position = lineBreak + needle.length
    this.#state = 'boundary'
    return true
  }

  /** What comes behind a boundary: the end of the form, or a part. */
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

  /** The rest of a boundary's line: the padding that RFC 2046 allows, and its end. */
  #passPadding(): boolean {
    const rest = this.#rest
    while (rest[this.#position] === 0x20 || rest[this.#position] === 0x09) this.#position++
    const at = this.#position
    if (at >= rest.length) return false
    if (rest[at] === carriageReturn) {
      if (at + 1 >= rest.length) return false
      if (rest[at + 1] === lineFeed) {
        this.#position = at + 2
        this.#state = this.#state === 'padding' ? 'headers' : 'epilogue'
        return true
      }
    }
    // RFC 2046 lets a longer line count as the boundary; parsers disagree, so it is refused.
    throw this.#malformed(at, 'A line begins with the boundary and goes on. Choose another.')
  }

  #readHeaders(): boolean {
    const rest = this.#rest
    const at = this.#position
    if (rest.length < at + 2) return false
    const isEmpty = rest[at] === carriageReturn && rest[at + 1] === lineFeed
    const window = rest.subarray(at, at + headerBytesMax)
    const end = window.indexOf(headersEnd)
    if (!isEmpty && end === -1) {
      if (window.length < headerBytesMax) return false
      throw this.#malformed(at, `The headers of a part exceed ${headerBytesMax} bytes.`)
    }
    const content = isEmpty ? at + 2 : at + end + headersEnd.length
    const offset = this.#restStart + at
    const headers = readPartHeaders(rest.toString('utf8', at, content), offset)
    this.#part = { ...headers, start: this.#restStart + content }
    this.#position = content
    this.#state = 'content'
    return true
  }

  /** The bytes from here up to `end` belong to the part, or come before the first. */
  #takeContent(end: number): void {
    const part = this.#part
    const bytes = this.#rest.subarray(this.#position, end)
    this.#position = Math.max(this.#position, end)
    if (part === undefined || bytes.length === 0) return
    this.#onContent?.(part, bytes)
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

  /** The chunk goes away: what may belong to a boundary or to headers is kept, as a copy. */
  #leave(): void {
    // A boundary's line break may be the last byte of what was passed.
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
