/** One operation is refused for what it asks, while others of its batch may stand. */
export class OperationRefusedError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
