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
