import { TextDensity, type TextTokens } from './text-density.ts'

/** What a document comes to. */
export interface CountedText {
  /** All of it but for what was measured as base64. */
  readonly tokens: TextTokens
  /** Bytes of the strings that were measured as base64. */
  readonly measuredBytes: number
}

/** Counts the text of a JSON document that comes in chunks, and apart from it the strings measured as base64. */
export class JsonTextCount {
  readonly #density = new TextDensity()
  /** Where in the current chunk that begins which is not counted yet. */
  #from = 0
  #measuredBytes = 0

  /** Counts on to a place in the chunk. */
  countTo(chunk: Buffer, to: number, isMeasured: boolean): void {
    if (isMeasured) this.#measuredBytes += to - this.#from
    else this.#density.add(chunk, this.#from, to)
    this.#from = to
  }

  /** Counts the rest of the chunk; another comes. */
  leave(chunk: Buffer, isMeasured: boolean): void {
    this.countTo(chunk, chunk.length, isMeasured)
    this.#from = 0
  }

  get counted(): CountedText {
    return { tokens: this.#density.tokens, measuredBytes: this.#measuredBytes }
  }
}
