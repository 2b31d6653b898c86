/** A way out could not be used: nothing reached the provider. Messages hold no password. */
export class EgressError extends Error {
  readonly code = 'EGRESS_FAILED'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EgressError'
  }
}
