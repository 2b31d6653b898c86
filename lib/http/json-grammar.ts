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

/** Why a document is not scanned to its end. */
export type JsonScanReason = 'syntax' | 'too_deep' | 'duplicate' | 'cut_off' | 'value_too_large' | 'too_many'

/** Why a document was refused. The message names the place and what to do, and may be shown to the caller. */
export class JsonScanError extends Error {
  readonly reason: JsonScanReason
  /** `messages[3].content`; empty at the top level. */
  readonly path: string
  /** The byte of the document at which the scan stopped. */
  readonly offset: number

  constructor(reason: JsonScanReason, path: string, offset: number, message: string) {
    super(message)
    this.name = 'JsonScanError'
    this.reason = reason
    this.path = path
    this.offset = offset
  }
}

/** What is wrong with a byte that cannot stand where it does. */
export function describeUnexpected(byte: number, state: number, offset: number): string {
  if (offset === 0 && byte === 0xef) return 'it begins with a byte order mark, which has to go'
  const found = byte > 0x20 && byte < 0x7f ? `'${String.fromCharCode(byte)}'` : `byte ${byte}`
  return `${found} was found where ${expectations[state]} was expected`
}
