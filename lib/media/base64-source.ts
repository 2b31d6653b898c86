import { MediaUnreadableError, type MediaBudget, type BodyReader, type MediaSource } from './media-reader.ts'

const prefixCharactersMax = 4096
const comma = 0x2c

/** A string of base64 in a JSON body, as the scan of the body found it valid. */
interface Base64Place {
  /** The position of the opening quote. */
  readonly start: number
  /** The position after the closing quote. */
  readonly end: number
  /** The decoded length. */
  readonly bytes: number
  readonly isDataUrl: boolean
}

/** The position of the data's characters. */
interface Layout {
  /** Characters before the data: `data:image/png;base64,`. */
  readonly prefix: number
  /** Every character is one byte of the body, so that offsets are equal. */
  readonly isPlain: boolean
}

const pieceBytes = 16_384
const backslash = 0x5c
const escapeBytesMax = 6
/** The cost of decoding an escape, in bytes that are only copied. */
const escapeCostBytes = 32
/** The distance between remembered places. */
const markCharacters = 65_536

/** A place in the text: the number of characters before it, and its position in the body. */
interface Mark {
  readonly characters: number
  readonly position: number
}

/**
 * The characters of a JSON string at positions, with its escapes decoded. Some writers escape every slash, so that
 * offsets in the body differ from offsets in the text: places are remembered, so that reading forward scans every byte
 * once.
 */
class JsonTextReader {
  readonly #body: BodyReader
  readonly #end: number
  readonly #budget: MediaBudget
  /** In order; the first is the beginning. */
  readonly #marks: Mark[]

  constructor(body: BodyReader, start: number, end: number, budget: MediaBudget) {
    this.#body = body
    this.#end = end
    this.#budget = budget
    this.#marks = [{ characters: 0, position: start }]
  }

  /**
   * `count` characters from `from` on, or up to the end, as bytes; a character outside ASCII becomes 0xff.
   * @throws MediaUnreadableError when the budget is spent
   */
  async read(from: number, count: number): Promise<Buffer> {
    const result = Buffer.allocUnsafe(count)
    let filled = 0
    let { characters, position } = this.#markBefore(from)
    while (filled < count && position < this.#end) {
      const wanted = Math.min(pieceBytes, this.#end - position)
      const piece = await this.#body.read(position, wanted)
      await this.#budget.spend(wanted)
      let at = 0
      let escapes = 0
      while (at < piece.length && filled < count) {
        const escape = piece.indexOf(backslash, at)
        const plainEnd = escape === -1 ? piece.length : escape
        const skipped = Math.min(plainEnd - at, Math.max(0, from - characters))
        at += skipped
        characters += skipped
        const copied = Math.min(plainEnd - at, count - filled)
        piece.copy(result, filled, at, at + copied)
        at += copied
        filled += copied
        characters += copied
        if (escape !== at || filled === count) continue
        const isCut = piece.length - at < escapeBytesMax && position + piece.length < this.#end
        // At the end of a piece the rest of the escape comes with the next one.
        if (isCut) break
        const escaped = escapedAt(piece, at)
        if (characters >= from) result[filled++] = escaped.byte
        characters++
        escapes++
        at += escaped.bytes
      }
      if (at === 0) break
      await this.#budget.spend(escapes * escapeCostBytes)
      position += at
      this.#remember({ characters, position })
    }
    return result.subarray(0, filled)
  }

  #markBefore(characters: number): Mark {
    let low = 0
    let high = this.#marks.length - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#marks[middle] as Mark).characters <= characters) low = middle
      else high = middle - 1
    }
    return this.#marks[low] as Mark
  }

  #remember(mark: Mark): void {
    const last = this.#marks.at(-1) as Mark
    if (mark.characters >= last.characters + markCharacters) this.#marks.push(mark)
  }
}

const named: Readonly<Record<string, number>> = { b: 8, f: 12, n: 10, r: 13, t: 9 }

/** One escaped character (RFC 8259, section 7). */
function escapedAt(piece: Buffer, at: number): { readonly byte: number; readonly bytes: number } {
  const letter = String.fromCharCode(piece[at + 1] ?? 0)
  if (letter !== 'u') return { byte: named[letter] ?? letter.charCodeAt(0), bytes: 2 }
  const code = Number.parseInt(piece.toString('latin1', at + 2, at + 6), 16)
  return { byte: code > 0x7f ? 0xff : code, bytes: 6 }
}

/**
 * The decoded content of a base64 string, decoded only where it is read. Groups of four characters are located by
 * arithmetic, whatever escapes the string contains.
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
