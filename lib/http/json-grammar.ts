/** Where in RFC 8259's grammar a scan stands. Up to `endExpected`, it stands between tokens. */
export const valueExpected = 0
export const valueOrCloseExpected = 1
export const keyExpected = 2
export const keyOrCloseExpected = 3
export const colonExpected = 4
export const commaOrCloseExpected = 5
export const endExpected = 6
export const inText = 7
export const inWord = 8

const expectations = [
  'a value',
  "a value or ']'",
  'a key in double quotes',
  "a key in double quotes or '}'",
  "':'",
  "',' or the end of the object or array",
  'nothing more',
]

/** What is wrong with a byte that cannot stand where it does. */
export function describeUnexpected(byte: number, state: number, offset: number): string {
  if (offset === 0 && byte === 0xef) return 'it begins with a byte order mark, which has to go'
  const found = byte > 0x20 && byte < 0x7f ? `'${String.fromCharCode(byte)}'` : `byte ${byte}`
  return `${found} was found where ${expectations[state]} was expected`
}
