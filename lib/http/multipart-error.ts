type MultipartReason = 'boundary_missing' | 'cut_off' | 'malformed' | 'too_many_parts'

/** Why a form was refused. The message may be shown to the caller. */
export class MultipartError extends Error {
  readonly reason: MultipartReason
  /** The byte of the body at which the scan stopped. */
  readonly offset: number

  constructor(reason: MultipartReason, offset: number, message: string) {
    super(message)
    this.name = 'MultipartError'
    this.reason = reason
    this.offset = offset
  }
}
