import type { Base64Meter } from './json-base64.ts'
import type { KeyTable, Member } from './json-plan.ts'
import type { TextNames } from './json-text-values.ts'
import { TextDensity, type TextTokens } from './text-density.ts'

/** Longer keys are not of interest: the longest name is far shorter, even with every letter escaped. */
const keyBytesMax = 1024
const noEscape = 0
const afterBackslash = 1
/** From here on the state is the number of hex digits still missing. */
const hexDigits = 2

const escaped = new Map<number, number>([
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x2f, 0x2f],
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
])

const quote = 0x22
const backslash = 0x5c
const wordBytes = 4
/** Below this length a byte loop is quicker than setting up the words. */
const wordRunMin = 16
const empty = new Int32Array(0)

/** The counts for a document. */
export interface CountedText {
  /** All text except what was measured as base64. */
  readonly tokens: TextTokens
  /** Bytes of the strings that were measured as base64. */
  readonly measuredBytes: number
}

/** Counts the text of a JSON document that arrives in chunks, and separately the strings measured as base64. */
export class JsonTextCount {
  readonly #density = new TextDensity()
  /** Where the uncounted part of the current chunk starts. */
  #from = 0
  #measuredBytes = 0

  /** Counts up to a position in the chunk. */
  countTo(chunk: Buffer, to: number, isMeasured: boolean): void {
    if (isMeasured) this.#measuredBytes += to - this.#from
    else this.#density.add(chunk, this.#from, to)
    this.#from = to
  }

  /** Counts the rest of the chunk before it is released. */
  leave(chunk: Buffer, isMeasured: boolean): void {
    this.countTo(chunk, chunk.length, isMeasured)
    this.#from = 0
  }

  get counted(): CountedText {
    return { tokens: this.#density.tokens, measuredBytes: this.#measuredBytes }
  }
}

/** The aligned 32-bit words of a chunk, created once per chunk and only for a long string. */
class ChunkWords {
  #chunk: Buffer | undefined
  #words: Int32Array = empty
  #firstByte = 0

  /**
   * Where the plain run of a JSON string that starts at `from` ends: at a quote, a backslash, a control character, or
   * the chunk's end. Four bytes at a time: a byte loop over long texts costs more than JSON.parse, and a native search
   * finds only one byte value, while three kinds of byte end a run.
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
    // The byte loop has already passed `from - 3` to `from`, so stepping back to a word's edge is safe.
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

  /** Releases the chunk. */
  release(): void {
    this.#chunk = undefined
    this.#words = empty
  }
}

/** The string that is being scanned: a key, which may be kept, or a value, which may be measured or searched. */
export class JsonText {
  /** The closing quote has been passed. */
  isEnded = false
  /** The byte at the position returned last is not allowed in a JSON string. */
  isBroken = false
  /** The last key found, as spelled; undefined when it is not of interest. */
  key: string | undefined
  readonly #words = new ChunkWords()
  #reader: Base64Meter | TextNames | undefined
  #escape = noEscape
  #codeUnit = 0
  #hasEscapes = false
  /** Where the kept key starts in the current chunk; -1 when nothing is kept. */
  #keyStart = -1
  #keyParts: Buffer[] = []
  #keyBytes = 0

  begin(keyStart: number, reader: Base64Meter | TextNames | undefined): void {
    this.isEnded = false
    this.#escape = noEscape
    this.#hasEscapes = false
    this.#keyStart = keyStart
    this.#keyBytes = 0
    this.#reader = reader
  }

  /** Scans up to the byte after the closing quote, the chunk's end, or an invalid byte. */
  scan(chunk: Buffer, from: number): number {
    let position = from
    const reader = this.#reader
    while (position < chunk.length) {
      if (this.#escape !== noEscape) {
        if (!this.#unescape(chunk[position] as number)) {
          this.isBroken = true
          return position
        }
        position++
        continue
      }
      const end = this.#words.runEnd(chunk, position)
      if (reader !== undefined && end > position) reader.write(chunk, position, end)
      if (end === chunk.length) return end
      const byte = chunk[end] as number
      position = end + 1
      if (byte === 0x22) {
        this.isEnded = true
        return position
      }
      if (byte !== 0x5c) {
        this.isBroken = true
        return end
      }
      this.#escape = afterBackslash
      this.#hasEscapes = true
    }
    return position
  }

  /** Reads one byte of an escape; false when it is invalid there. */
  #unescape(byte: number): boolean {
    if (this.#escape === afterBackslash) {
      if (byte === 0x75) {
        this.#escape = hexDigits + 3
        this.#codeUnit = 0
        return true
      }
      const character = escaped.get(byte)
      if (character === undefined) return false
      this.#reader?.writeCharacter(character)
      this.#escape = noEscape
      return true
    }
    const digit = hexValue(byte)
    if (digit === -1) return false
    this.#codeUnit = this.#codeUnit * 16 + digit
    if (this.#escape > hexDigits) this.#escape--
    else {
      this.#reader?.writeCharacter(this.#codeUnit)
      this.#escape = noEscape
    }
    return true
  }

  /** Finds the key that ended before `end`; `key` is then its spelling in the document. */
  member(chunk: Buffer, end: number, keys: KeyTable): Member | undefined {
    const start = this.#keyStart
    this.#keyStart = -1
    if (this.#keyBytes > 0 || this.#hasEscapes) return this.#rareMember(chunk, start, end, keys)
    const member = keys.match(chunk, start, end)
    if (member === undefined) this.key = undefined
    else
      this.key = isSpelled(member.bytes, chunk, start, end) ? member.name : chunk.toString('utf8', start, end)
    return member
  }

  /** A key with escapes, or one split between chunks. */
  #rareMember(chunk: Buffer, start: number, end: number, keys: KeyTable): Member | undefined {
    this.#keep(chunk.subarray(start, end))
    const bytes = Buffer.concat(this.#keyParts)
    this.#keyParts = []
    this.key = undefined
    if (bytes.length > keyBytesMax) return undefined
    const text = bytes.toString()
    const key = this.#hasEscapes ? String(JSON.parse(`"${text}"`)) : text
    const member = keys.find(key)
    if (member !== undefined) this.key = key
    return member
  }

  /** Keeps the part of the key in a chunk that is about to be released. */
  leave(chunk: Buffer): void {
    if (this.#keyStart >= 0) {
      this.#keep(chunk.subarray(this.#keyStart))
      this.#keyStart = 0
    }
    this.#words.release()
  }

  #keep(part: Buffer): void {
    if (this.#keyBytes <= keyBytesMax) this.#keyParts.push(Buffer.from(part.subarray(0, keyBytesMax + 1)))
    this.#keyBytes += part.length
  }
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

function isSpelled(name: Buffer, chunk: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false
  for (let index = 0; index < name.length; index++) {
    if (chunk[start + index] !== name[index]) return false
  }
  return true
}
