import type { MediaBudget } from './media-reader.ts'
import type { BodyReader } from './media-source.ts'

const pieceBytes = 16_384
const backslash = 0x5c
const escapeBytesMax = 6
/** What undoing one costs, in bytes that are only copied. */
const escapeCostBytes = 32
/** How far apart the places are that are remembered. */
const markCharacters = 65_536

/** A place in the text: how many characters come before it, and where it stands in the body. */
interface Mark {
  readonly characters: number
  readonly position: number
}

/**
 * The characters of a JSON string at positions, its escapes undone. Writers that escape every slash are
 * common, and offsets in the body then say nothing of offsets in the text: places on the way are remembered,
 * so that reading forward looks at every byte once.
 */
export class JsonTextReader {
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
   * Characters from `from` on, `count` of them or up to the end, as bytes; what is not ASCII becomes 0xff.
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

/** One character that is written with an escape (RFC 8259, section 7). */
function escapedAt(piece: Buffer, at: number): { readonly byte: number; readonly bytes: number } {
  const letter = String.fromCharCode(piece[at + 1] ?? 0)
  if (letter !== 'u') return { byte: named[letter] ?? letter.charCodeAt(0), bytes: 2 }
  const code = Number.parseInt(piece.toString('latin1', at + 2, at + 6), 16)
  return { byte: code > 0x7f ? 0xff : code, bytes: 6 }
}
