/** A part of a response's generated text, kept so that its tokens can be counted if necessary. */
interface SampledText {
  readonly bytes: Buffer
  /** The bytes are as between the quotes of JSON, with its escapes. */
  readonly isEscaped: boolean
  /** All samples before this one are its beginning. */
  readonly isContinued: boolean
}

/** Few responses are longer; for those that are, this much shows how many bytes a token has. */
const sampleBytesMax = 16_384
const sampleBytesFirst = 512
/** The part of a longer text that is kept from its beginning; after it come the most recent bytes. */
const beginningBytes = sampleBytesMax / 2

/** Counts the bytes of text as it is generated, and keeps the first and the last of them. */
export class TextSample {
  #buffer: Buffer | undefined
  #length = 0
  #isEscaped = false
  #isFull = false
  #isContinued = true
  /** The position for the next of the most recent bytes, once the sample is full. */
  #next = beginningBytes

  /** Returns the text's length in UTF-8. */
  add(text: string): number {
    const kept = this.#buffer
    // No UTF-16 unit has more than three bytes in UTF-8, so this much always fits.
    if (kept !== undefined && !this.#isEscaped && this.#length + text.length * 3 <= kept.length) {
      const written = kept.write(text, this.#length)
      this.#length += written
      return written
    }
    const byteCount = Buffer.byteLength(text)
    if (this.#isFull) {
      if (!this.#isEscaped) this.#goOn((kept as Buffer).write(text, this.#next))
      return byteCount
    }
    if (!this.#makeRoom(byteCount, false)) return byteCount
    const buffer = this.#buffer as Buffer
    const written = buffer.write(text, this.#length)
    this.#length += written
    this.#isFull = written < byteCount
    return byteCount
  }

  /** Text in UTF-8. */
  addBytes(bytes: Buffer, start: number, end: number): void {
    if (this.#isFull || !this.#makeRoom(end - start, false)) return
    const written = bytes.copy(this.#buffer as Buffer, this.#length, start, end)
    this.#length += written
    this.#isFull = written < end - start
  }

  /** Text with JSON escapes. */
  addEscaped(bytes: Buffer): void {
    if (this.#isFull) {
      if (this.#isEscaped) this.#goOn(bytes.copy(this.#buffer as Buffer, this.#next))
      return
    }
    if (!this.#makeRoom(bytes.length, true)) return
    const written = bytes.copy(this.#buffer as Buffer, this.#length)
    this.#length += written
    this.#isFull = written < bytes.length
  }

  /**
   * The most recent bytes are written in a ring after the beginning; bytes that do not fit before its end are dropped.
   */
  #goOn(written: number): void {
    this.#isContinued = false
    this.#next += written
    if (this.#next >= sampleBytesMax - 3) this.#next = beginningBytes
  }

  get text(): SampledText | undefined {
    if (this.#buffer === undefined || this.#length === 0) return undefined
    const bytes = this.#buffer.subarray(0, this.#length)
    return { bytes, isEscaped: this.#isEscaped, isContinued: this.#isContinued }
  }

  /** Doubles the buffer, up to the limit, so that short responses use little memory and long ones are copied rarely. */
  #makeRoom(byteCount: number, isEscaped: boolean): boolean {
    const buffer = this.#buffer
    if (this.#length === 0) this.#isEscaped = isEscaped
    else if (this.#isEscaped !== isEscaped) return false
    const needed = this.#length + byteCount
    if (buffer !== undefined && (needed <= buffer.length || buffer.length === sampleBytesMax)) return true
    let size = buffer?.length ?? sampleBytesFirst
    while (size < needed && size < sampleBytesMax) size *= 2
    // A small slice would keep the whole shared pool alive for as long as the stream lasts; documents are short.
    const larger = isEscaped ? Buffer.allocUnsafe(size) : Buffer.allocUnsafeSlow(size)
    buffer?.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
    return true
  }
}
