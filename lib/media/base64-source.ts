import { JsonTextReader } from './json-text-reader.ts'
import { MediaUnreadableError, type BodyReader, type MediaSource } from './media-source.ts'

const prefixCharactersMax = 4096
const comma = 0x2c

/** A string of base64 in a JSON body, as the scan of the body found it valid. */
export interface Base64Place {
  /** Of the quote before it. */
  readonly start: number
  /** Behind the quote after it. */
  readonly end: number
  /** Decoded. */
  readonly bytes: number
  readonly isDataUrl: boolean
}

/**
 * What a base64 string decodes to, decoded where it is read and nowhere else. Groups of four characters are
 * found by arithmetic, whatever escapes the string is written with.
 */
export class Base64Source implements MediaSource {
  readonly #text: JsonTextReader
  readonly #place: Base64Place
  /** Characters before the data: `data:image/png;base64,`. */
  #prefix: number | undefined

  constructor(body: BodyReader, place: Base64Place) {
    this.#text = new JsonTextReader(body, place.start + 1, place.end - 1)
    this.#place = place
  }

  size(): Promise<number> {
    return Promise.resolve(this.#place.bytes)
  }

  async read(position: number, length: number): Promise<Buffer> {
    const end = Math.min(position + length, this.#place.bytes)
    if (position >= end) return Buffer.alloc(0)
    this.#prefix ??= this.#place.isDataUrl ? await this.#findPrefix() : 0
    const firstGroup = Math.floor(position / 3)
    const groups = Math.ceil(end / 3) - firstGroup
    const text = await this.#text.read(this.#prefix + firstGroup * 4, groups * 4)
    const skipped = position - firstGroup * 3
    return Buffer.from(text.toString('latin1'), 'base64').subarray(skipped, skipped + end - position)
  }

  async #findPrefix(): Promise<number> {
    const found = (await this.#text.read(0, prefixCharactersMax)).indexOf(comma)
    if (found === -1) throw new MediaUnreadableError('The type in its data URL is too long.')
    return found + 1
  }
}
