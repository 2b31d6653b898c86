const quote = 0x22
const backslash = 0x5c
const wordBytes = 4
/** Below this a byte loop is quicker than setting up the words. */
const wordRunMin = 16
const empty = new Int32Array(0)

/** The aligned 32-bit words of a chunk, made once per chunk and only when a long string asks for them. */
export class ChunkWords {
  #chunk: Buffer | undefined
  #words: Int32Array = empty
  #firstByte = 0

  /**
   * Where the plain run of a JSON string that starts at `from` ends: at a quote, a backslash, a control
   * character, or the chunk's end. Four bytes at a time: a byte loop over long texts costs more than
   * JSON.parse, and a native search finds one byte value only, while three kinds of byte end a run.
   */
  runEnd(chunk: Buffer, from: number): number {
    const end = chunk.length
    const byteLoopEnd = Math.min(end, from + wordRunMin)
    let position = from
    while (position < byteLoopEnd) {
      const byte = chunk[position] as number
      if (byte === quote || byte === backslash || byte < 0x20) return position
      position++
    }
    if (position === end) return end
    if (end - position >= wordRunMin) position = this.#skipWords(chunk, position)
    while (position < end) {
      const byte = chunk[position] as number
      if (byte === quote || byte === backslash || byte < 0x20) return position
      position++
    }
    return end
  }

  /** Skips whole words without a byte of interest; the bytes skipped before the first word were plain. */
  #skipWords(chunk: Buffer, from: number): number {
    if (this.#chunk !== chunk) this.#take(chunk)
    const words = this.#words
    // The byte loop has passed `from - 3` to `from` already, so stepping back to a word's edge is safe.
    let index = (from - this.#firstByte) >> 2
    const count = words.length
    while (index < count) {
      const word = words[index] as number
      const quotes = word ^ 0x22222222
      const backslashes = word ^ 0x5c5c5c5c
      // The classic "has a byte below n" test; exact as a yes or no for the whole word.
      const hits =
        ((word - 0x20202020) & ~word) |
        ((quotes - 0x01010101) & ~quotes) |
        ((backslashes - 0x01010101) & ~backslashes)
      if ((hits & 0x80808080) !== 0) break
      index++
    }
    return Math.max(from, this.#firstByte + index * wordBytes)
  }

  #take(chunk: Buffer): void {
    const misalignment = chunk.byteOffset % wordBytes
    this.#firstByte = misalignment === 0 ? 0 : wordBytes - misalignment
    const count = Math.max(0, chunk.length - this.#firstByte) >> 2
    this.#words = new Int32Array(chunk.buffer, chunk.byteOffset + this.#firstByte, count)
    this.#chunk = chunk
  }

  /** Lets go of the chunk. */
  release(): void {
    this.#chunk = undefined
    this.#words = empty
  }
}
