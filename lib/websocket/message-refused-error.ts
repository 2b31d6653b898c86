/** One message from a client is refused, in a message of the protocol; the session goes on. */
export class MessageRefusedError extends Error {
  /** What the client is told. */
  readonly text: string

  constructor(text: string, cause: Error) {
    super(cause.message, { cause })
    this.name = 'MessageRefusedError'
    this.text = text
  }
}
