/**
 * The number of tokens of a text, from its bytes in one pass: the most that any text of these bytes can have, and the
 * likely number.
 *
 * The most: every tokenizer in use falls back to bytes, so no text has more tokens than bytes. It has fewer where two
 * neighboring bytes are one token in every vocabulary: such a pair is never split, so in a run of them at least every
 * third byte has no token of its own. These pairs are two small letters (except the rare ones below, compared with
 * o200k and cl100k), a letter after a space, repeated white space, and the two bytes of a small Russian letter.
 * Everything else counts one token a byte: digits (Google has a token for each), punctuation, capitals, Chinese, emoji.
 * A JSON escape with a backslash is one character.
 */
export interface TextTokens {
  readonly most: number
  readonly likely: number
}

/** For text that was not scanned: tokens of English and of Russian alike have four to five bytes. */
export const bytesPerToken = 4

/** The number of tokens that a text likely has. */
export function likelyTextTokens({
  textTokens,
  textBytes,
}: {
  readonly textTokens?: TextTokens
  readonly textBytes: number
}): number {
  return textTokens?.likely ?? Math.ceil(textBytes / bytesPerToken)
}

/** Pairs of small letters that are not a token in one of the vocabularies. */
const rarePairs = new Set(
  'bq fj fz gj gk gq hj jg jv jw jx jy jz kq kx kz lq mz nq oq qf qg qj qk qo qv qy qz rj tj tq uq vq vz wq wv wz xg xh xj xk xq xu xv xw yf yj yq yv zg zj zq zr zv'.split(
    ' ',
  ),
)
const backslash = 0x5c

/** Thirds of a token at most. */
const whole = 3
const paired = 2

/** Hundredths of a token, as measured on prose and source in several languages (docs/adr/0027). */
const usual = { letter: 21, capital: 38, space: 6, newline: 55, digit: 45, mark: 55, cyrillic: 21, other: 37 }
const rare = 100

/** By a byte and the one before it: the likely count in hundredths, and in the last two bits the maximum in thirds. */
const weights = new Uint16Array(65_536)
for (let before = 0; before < 256; before++) {
  for (let byte = 0; byte < 256; byte++) weights[(before << 8) | byte] = weightOf(before, byte)
}

function weightOf(before: number, byte: number): number {
  if (before === backslash && byte !== backslash) return 0
  return (likelyOf(before, byte) << 2) | mostOf(before, byte)
}

function mostOf(before: number, byte: number): number {
  if (!areOneToken(before, byte)) return whole
  return byte < 0x80 ? paired : 0
}

function areOneToken(before: number, byte: number): boolean {
  if (isSmall(byte)) {
    if (before === 0x20) return true
    return isSmall(before) && !rarePairs.has(String.fromCharCode(before, byte))
  }
  if (isCapital(byte)) return false
  if (isSpace(byte)) return before === byte
  // U+0430 to U+044F, the small letters of Russian.
  return (
    (before === 0xd0 && byte >= 0xb0 && byte <= 0xbf) || (before === 0xd1 && byte >= 0x80 && byte <= 0x8f)
  )
}

function likelyOf(before: number, byte: number): number {
  if (isSmall(byte))
    return isSmall(before) && rarePairs.has(String.fromCharCode(before, byte)) ? rare : usual.letter
  if (isCapital(byte)) return usual.capital
  if (byte === 0x20) return usual.space
  if (isSpace(byte)) return before === byte ? usual.space : usual.newline
  if (byte >= 0x30 && byte <= 0x39) return usual.digit
  if (byte < 0x80) return usual.mark
  const isCyrillic = byte === 0xd0 || byte === 0xd1 || before === 0xd0 || before === 0xd1
  return isCyrillic ? usual.cyrillic : usual.other
}

function isSmall(byte: number): boolean {
  return byte >= 0x61 && byte <= 0x7a
}

function isCapital(byte: number): boolean {
  return byte >= 0x41 && byte <= 0x5a
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x09 || byte === 0x0d
}

/** Adds up the tokens of a text that arrives in pieces. */
export class TextDensity {
  #mostThirds = 0
  #likelyHundredths = 0
  #before = 0

  add(bytes: Buffer, start = 0, end = bytes.length): void {
    let before = this.#before
    let thirds = 0
    let hundredths = 0
    for (let position = start; position < end; position++) {
      const byte = bytes[position] as number
      const weight = weights[(before << 8) | byte] as number
      thirds += weight & 3
      hundredths += weight >> 2
      before = byte
    }
    this.#before = before
    this.#mostThirds += thirds
    this.#likelyHundredths += hundredths
  }

  get tokens(): TextTokens {
    return { most: Math.ceil(this.#mostThirds / 3), likely: Math.ceil(this.#likelyHundredths / 100) }
  }
}
