/** The headers of an upload. */
export interface UploadHead {
  /** As the client sent it, with its parameters; empty when absent. */
  readonly contentType: string
  /** Empty when the bytes are not compressed: a watcher sees them as they were sent. */
  readonly contentEncoding: string
  /** Undefined for a chunked body. */
  readonly contentLength: number | undefined
  /** All headers, flat, as received. */
  readonly headers: readonly string[]
}

/**
 * Watches the bytes of an upload on their way to the provider: every chunk, once, in order; chunks may be kept. An
 * error that it throws ends the upload at once, cuts the request to the provider and refuses the client's: with the
 * error itself where it is a GatewayError.
 */
export interface UploadWatcher {
  /** A returned promise delays the chunk, and stops reading from the client, until it is resolved. */
  onData(chunk: Buffer): void | Promise<void>
  /** The client has sent everything; the provider sees the end only after a returned promise has resolved. */
  onEnd?(): void | Promise<void>
}
