type WordType = 'number' | 'true' | 'false' | 'null'

/** States of RFC 8259's number grammar. */
const numberAfterMinus = 0
const afterZero = 1
/** Any digit may follow. */
const inInteger = 2
const afterPoint = 3
const inFraction = 4
const afterExponentMark = 5
const afterExponentSign = 6
const inExponent = 7
/** The byte does not belong to the number. */
const numberEnded = -1

/** The state after a number's first byte, which is a digit or a minus. */
function firstNumberState(byte: number): number {
  if (byte === 0x2d) return numberAfterMinus
  return byte === 0x30 ? afterZero : inInteger
}

/** The state after one more byte; `numberEnded` when it does not belong to the number. */
function nextNumberState(state: number, byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return afterDigit(state, byte)
  if (byte === 0x2e) return state === afterZero || state === inInteger ? afterPoint : numberEnded
  if (byte === 0x65 || byte === 0x45) {
    return state === afterZero || state === inInteger || state === inFraction
      ? afterExponentMark
      : numberEnded
  }
  if (byte === 0x2b || byte === 0x2d) return state === afterExponentMark ? afterExponentSign : numberEnded
  return numberEnded
}

function afterDigit(state: number, byte: number): number {
  switch (state) {
    case numberAfterMinus:
      return byte === 0x30 ? afterZero : inInteger
    case afterZero:
      return numberEnded
    case inInteger:
      return inInteger
    case afterPoint:
    case inFraction:
      return inFraction
    default:
      return inExponent
  }
}

/** True when the number may end here. */
function isWholeNumber(state: number): boolean {
  return state === afterZero || state === inInteger || state === inFraction || state === inExponent
}

/** The number or literal that is being scanned. It may be split between chunks at any byte. */
export class JsonWord {
  /** The word is complete, and the position returned last is the byte after it. */
  isEnded = false
  /** The error in the byte at the position returned last. */
  problem: string | undefined
  type: WordType = 'null'
  #numberState = 0
  #matched = 0

  /** False when no word starts with this byte. */
  begin(byte: number): boolean {
    this.isEnded = false
    this.#matched = 1
    if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) {
      this.type = 'number'
      this.#numberState = firstNumberState(byte)
    } else if (byte === 0x74) this.type = 'true'
    else if (byte === 0x66) this.type = 'false'
    else if (byte === 0x6e) this.type = 'null'
    else return false
    return true
  }

  scan(chunk: Buffer, from: number): number {
    return this.type === 'number' ? this.#scanNumber(chunk, from) : this.#scanLiteral(chunk, from, this.type)
  }

  /** Whether the document may end here: only a number does not mark its own end. */
  get isWhole(): boolean {
    return this.type === 'number' && isWholeNumber(this.#numberState)
  }

  #scanNumber(chunk: Buffer, from: number): number {
    let state = this.#numberState
    let position = from
    while (position < chunk.length) {
      const byte = chunk[position] as number
      const isMoreDigits = byte >= 0x30 && byte <= 0x39 && state === inInteger
      const next = isMoreDigits ? state : nextNumberState(state, byte)
      if (next === numberEnded) {
        if (isWholeNumber(state)) this.isEnded = true
        else this.problem = 'a number is not finished'
        return position
      }
      state = next
      position++
    }
    this.#numberState = state
    return position
  }

  #scanLiteral(chunk: Buffer, from: number, literal: string): number {
    let position = from
    while (position < chunk.length && this.#matched < literal.length) {
      if (chunk[position] !== literal.charCodeAt(this.#matched)) {
        this.problem = `'${literal}' is misspelled`
        return position
      }
      position++
      this.#matched++
    }
    this.isEnded = this.#matched === literal.length
    return position
  }
}
