import type { Base64Facts } from './json-scan.ts'

const stagingBytes = 16_384
const headBytesMax = 4096
const fileIdCharactersMax = 256
const schemeCharactersMax = 32
const fileId = /^(?:file[-_]|(?:\/?v\d\w{0,8}\/)?files\/)/
/** Shared, since there may be thousands of addresses. */
const noBytes = Buffer.alloc(0)
const scratch = Buffer.allocUnsafe(stagingBytes)

/**
 * Measures base64 (or a data URL) that arrives in pieces, keeping only its first decoded bytes. Decoding is native,
 * into a scratch buffer: Node skips characters that are not base64, so a short result means invalid text.
 */
export class Base64Meter {
  readonly #staging = Buffer.allocUnsafe(stagingBytes)
  #onBytes: ((bytes: Buffer) => void) | undefined
  #staged = 0
  #isFirst = true
  #bytes = 0
  #head: Buffer[] = []
  #headBytes = 0
  #isValid = true
  #isUrl = false
  #address: string | undefined
  #isDataUrl = false
  #declaredType: string | undefined

  /** Begins a new text. `onBytes` gets the decoded bytes, which are valid only during the call. */
  begin(onBytes?: (bytes: Buffer) => void): void {
    this.#onBytes = onBytes
    this.#staged = 0
    this.#isFirst = true
    this.#bytes = 0
    this.#head = []
    this.#headBytes = 0
    this.#isValid = true
    this.#isUrl = false
    this.#address = undefined
    this.#isDataUrl = false
    this.#declaredType = undefined
  }

  write(chunk: Buffer, start: number, end: number): void {
    let position = start
    while (position < end) {
      if (this.#staged === stagingBytes) this.#flush(false)
      const count = Math.min(end - position, stagingBytes - this.#staged)
      chunk.copy(this.#staging, this.#staged, position, position + count)
      this.#staged += count
      position += count
    }
  }

  /** Adds one UTF-16 unit that the document writes as an escape; PHP writes every slash as `\/`. */
  writeCharacter(code: number): void {
    if (this.#staged > stagingBytes - 3) this.#flush(false)
    if (code <= 0x7f) this.#staging[this.#staged++] = code
    // Invalid in every alphabet of base64; an address may have any letter in its host.
    else this.#staged += this.#staging.write(String.fromCharCode(code), this.#staged)
  }

  end(): Base64Facts {
    this.#flush(true)
    return {
      bytes: this.#bytes,
      head: this.#head.length > 1 ? Buffer.concat(this.#head) : (this.#head[0] ?? noBytes),
      isValid: this.#isValid,
      ...(this.#isDataUrl && { isDataUrl: true }),
      ...(this.#declaredType !== undefined && { declaredType: this.#declaredType }),
      ...(this.#isUrl && { isUrl: true }),
      ...(this.#address !== undefined && { address: this.#address }),
    }
  }

  #flush(isLast: boolean): void {
    if (this.#isFirst) {
      this.#isFirst = false
      this.#readPrefix(isLast)
    }
    const staged = this.#staged
    // All pieces but the last must be whole groups of four; removing a prefix leaves an odd rest.
    const count = isLast ? staged : staged - (staged % 4)
    if (!this.#isUrl) this.#decode(count, isLast)
    if (count < staged) this.#staging.copyWithin(0, count, staged)
    this.#staged = staged - count
  }

  #decode(count: number, isLast: boolean): void {
    let characters = count
    if (isLast) {
      let padding = 0
      while (padding < 2 && this.#staging[characters - 1] === 0x3d) {
        characters--
        padding++
      }
      const isOdd = padding > 0 ? count % 4 !== 0 : characters % 4 === 1
      if (isOdd) this.#isValid = false
    }
    const expected = Math.floor((characters * 3) / 4)
    this.#bytes += expected
    if (!this.#isValid || expected === 0) return
    const text = this.#staging.toString('latin1', 0, characters)
    if (this.#bytes === expected && expected <= headBytesMax) {
      this.#head = [Buffer.from(text, 'base64')]
      if (this.#head[0]?.length !== expected) this.#isValid = false
      else this.#onBytes?.(this.#head[0])
      return
    }
    if (scratch.write(text, 'base64') !== expected) {
      this.#isValid = false
      return
    }
    if (this.#headBytes < headBytesMax) {
      const count = Math.min(expected, headBytesMax - this.#headBytes)
      this.#head.push(Buffer.from(scratch.subarray(0, count)))
      this.#headBytes += count
    }
    this.#onBytes?.(scratch.subarray(0, expected))
  }

  /** Removes the prefix `data:image/png;base64,`; an address or a file's id is not measured. */
  #readPrefix(isWhole: boolean): void {
    const start = this.#blanks()
    const scheme = this.#staging.toString('latin1', start, Math.min(start + 5, this.#staged))
    const isData = scheme.toLowerCase() === 'data:'
    if (!isData) {
      // No address is longer than the staging buffer; a text with a colon is not base64 either.
      this.#isUrl = isWhole && (this.#hasScheme(start) || this.#isFileId(start))
      if (this.#isUrl) this.#address = this.#staging.toString('utf8', start, this.#staged).trimEnd()
      return
    }
    // White space before a data URL is not part of one: its provider would not recognize it.
    if (start > 0) {
      this.#isValid = false
      return
    }
    this.#isDataUrl = true
    const comma = this.#staging.subarray(0, this.#staged).indexOf(0x2c)
    const prefixEnd = comma === -1 ? this.#staged : comma
    const [type = '', ...parameters] = this.#staging
      .toString('latin1', 5, prefixEnd)
      .split(';', 16)
      .map(part => part.trim().toLowerCase())
    if (type !== '') this.#declaredType = type
    // RFC 2397 allows percent-encoded data as well; no provider accepts it.
    if (comma === -1 || parameters.at(-1) !== 'base64') this.#isValid = false
    const rest = Math.min(this.#staged, prefixEnd + 1)
    this.#staging.copyWithin(0, rest, this.#staged)
    this.#staged -= rest
  }

  /** Skips white space: providers ignore it before an address that they fetch. */
  #blanks(): number {
    let start = 0
    while (start < this.#staged && (this.#staging[start] as number) <= 0x20) start++
    return start
  }

  /** A colon is in no base64 alphabet, so a word before one is the scheme of an address. */
  #hasScheme(start: number): boolean {
    const end = Math.min(this.#staged, start + schemeCharactersMax)
    for (let index = start; index < end; index++) {
      const byte = this.#staging[index] as number
      if (byte === 0x3a) return index > start
      const lower = byte | 0x20
      const isLetter = lower >= 0x61 && lower <= 0x7a
      const isDigitOrMark = (byte >= 0x30 && byte <= 0x39) || byte === 0x2b || byte === 0x2d || byte === 0x2e
      if (!isLetter && (index === start || !isDigitOrMark)) return false
    }
    return false
  }

  #isFileId(start: number): boolean {
    if (this.#staged - start >= fileIdCharactersMax) return false
    const first = this.#staging[start]
    const mayBe = first === 0x66 || first === 0x76 || first === 0x2f
    return mayBe && fileId.test(this.#staging.toString('latin1', start, this.#staged))
  }
}
