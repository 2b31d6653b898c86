/** States of RFC 8259's number grammar. */
const numberAfterMinus = 0
const afterZero = 1
/** Any digit may follow. */
export const inInteger = 2
const afterPoint = 3
const inFraction = 4
const afterExponentMark = 5
const afterExponentSign = 6
const inExponent = 7
/** The byte does not belong to the number. */
export const numberEnded = -1

/** The state after a number's first byte, which is a digit or a minus. */
export function firstNumberState(byte: number): number {
  if (byte === 0x2d) return numberAfterMinus
  return byte === 0x30 ? afterZero : inInteger
}

/** The state after one more byte; `numberEnded` when it does not belong to the number. */
export function nextNumberState(state: number, byte: number): number {
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
export function isWholeNumber(state: number): boolean {
  return state === afterZero || state === inInteger || state === inFraction || state === inExponent
}
