/** A session ends for this reason, with this close code (RFC 6455 section 7.4). */
export class SessionError extends Error {
  readonly closeCode: number

  constructor(closeCode: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SessionError'
    this.closeCode = closeCode
  }
}
