import { JsonTextReader } from './json-text-reader.ts'
import type { MediaBudget } from './media-reader.ts'
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

/** Where the characters of the data are. */
interface Layout {
  /** Characters before the data: `data:image/png;base64,`. */
  readonly prefix: number
  /** Every character is one byte of the body, so that one offset is the other. */
  readonly isPlain: boolean
}

/**
 * What a base64 string decodes to, decoded where it is read and nowhere else. Groups of four characters are
 * found by arithmetic, whatever escapes the string is written with.
 */
export class Base64Source implements MediaSource {
  readonly #body: BodyReader
  readonly #place: Base64Place
  readonly #text: JsonTextReader
  #layout: Layout | undefined

  constructor(body: BodyReader, place: Base64Place, budget: MediaBudget) {
    this.#body = body
    this.#place = place
    this.#text = new JsonTextReader(body, place.start + 1, place.end - 1, budget)
  }

  size(): Promise<number> {
    return Promise.resolve(this.#place.bytes)
  }

  async read(position: number, length: number): Promise<Buffer> {
    const end = Math.min(position + length, this.#place.bytes)
    if (position >= end) return Buffer.alloc(0)
    this.#layout ??= await this.#findLayout()
    const { prefix, isPlain } = this.#layout
    const firstGroup = Math.floor(position / 3)
    const from = prefix + firstGroup * 4
    const count = (Math.ceil(end / 3) - firstGroup) * 4
    const textStart = this.#place.start + 1
    const wanted = Math.min(count, this.#place.end - 1 - textStart - from)
    const text = isPlain
      ? await this.#body.read(textStart + from, wanted)
      : await this.#text.read(from, count)
    const skipped = position - firstGroup * 3
    return Buffer.from(text.toString('latin1'), 'base64').subarray(skipped, skipped + end - position)
  }

  async #findLayout(): Promise<Layout> {
    const { start, end, bytes, isDataUrl } = this.#place
    const head = isDataUrl ? await this.#text.read(0, prefixCharactersMax) : Buffer.from(',')
    const found = head.indexOf(comma)
    if (found === -1) throw new MediaUnreadableError('The type in its data URL is too long.')
    const prefix = isDataUrl ? found + 1 : 0
    const ending = (await this.#body.read(Math.max(start + 1, end - 3), 2)).toString('latin1')
    const padding = /=*$/.exec(ending)?.[0].length ?? 0
    const isPlain = end - start - 2 === prefix + Math.ceil((bytes * 4) / 3) + padding
    return { prefix, isPlain }
  }
}
