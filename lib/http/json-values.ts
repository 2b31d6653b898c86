const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const lineFeed = 0x0a
const carriageReturn = 0x0d
const openBrace = 0x7b
const closeBrace = 0x7d
/** From this distance on a native search is quicker than a loop. */
const searchedBytes = 64

/** A string, quotes included, or a number, at the position of a value. */
interface Scalar {
  readonly type: 'string' | 'number'
  readonly start: number
  readonly end: number
}

/** The strings and numbers of a JSON document that is known to be complete, without the names of members. */
export function scalarsIn(document: Buffer): readonly Scalar[] {
  const scalars: Scalar[] = []
  let at = 0
  while (at < document.length) {
    const byte = document[at] as number
    let end = at + 1
    if (byte === quote) {
      end = stringEnd(document, at)
      if (!isName(document, end)) scalars.push({ type: 'string', start: at, end })
    } else if (isDigit(byte) || byte === 0x2d) {
      end = numberEnd(document, at)
      scalars.push({ type: 'number', start: at, end })
    }
    at = end
  }
  return scalars
}

/**
 * The position after the string that starts here; -1 where there is none, it does not end, or it contains a line end.
 * Other control characters, which JSON forbids too, are only searched for in its first bytes.
 */
export function stringEnd(document: Buffer, start: number): number {
  if (document[start] !== quote) return -1
  const near = Math.min(document.length, start + searchedBytes)
  let at = start + 1
  for (; at < near; at += 1) {
    const byte = document[at] as number
    if (byte === quote) return at + 1
    if (byte === backslash) at += 1
    else if (byte < 0x20) return -1
  }
  let end = document.indexOf(quote, at)
  while (end !== -1 && isEscaped(document, at, end)) end = document.indexOf(quote, end + 1)
  return end === -1 || hasLineEnd(document, at, end) ? -1 : end + 1
}

/** The position after the number that starts here; -1 where there is none. */
export function numberEnd(document: Buffer, start: number): number {
  let at = start
  while (at < document.length && isOfNumber(document[at] as number)) at += 1
  return at === start ? -1 : at
}

/** The position after the object that starts here; -1 where there is none or it does not end. */
export function objectEnd(document: Buffer, start: number): number {
  if (document[start] !== openBrace) return -1
  let depth = 0
  for (let at = start; at !== -1 && at < document.length;) {
    const byte = document[at]
    if (byte === openBrace) depth += 1
    else if (byte === closeBrace) depth -= 1
    if (depth === 0) return at + 1
    at = byte === quote ? stringEnd(document, at) : at + 1
  }
  return -1
}

/** Whether the backslashes before this byte, the first of which may be at `start`, escape it. */
function isEscaped(document: Buffer, start: number, at: number): boolean {
  let before = at - 1
  while (before >= start && document[before] === backslash) before -= 1
  return (at - before) % 2 === 0
}

function hasLineEnd(document: Buffer, start: number, end: number): boolean {
  const feed = document.indexOf(lineFeed, start)
  if (feed !== -1 && feed < end) return true
  const back = document.indexOf(carriageReturn, start)
  return back !== -1 && back < end
}

function isName(document: Buffer, end: number): boolean {
  let at = end
  while (document[at] === 0x20 || document[at] === 0x09) at += 1
  return document[at] === colon
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

/** Digits, signs, the point and the exponent's letter. */
function isOfNumber(byte: number): boolean {
  return isDigit(byte) || byte === 0x2d || byte === 0x2b || byte === 0x2e || byte === 0x65 || byte === 0x45
}
