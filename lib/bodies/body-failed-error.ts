/**
 * A body could not be sent to its end for a reason of its own, which is the cause: its client left or was too
 * slow, a watcher refused it, its file could not be read. It says nothing of the provider.
 */
export class BodyFailedError extends Error {
  constructor(cause: Error) {
    super('The body of the request could not be sent to its end.', { cause })
    this.name = 'BodyFailedError'
  }
}
