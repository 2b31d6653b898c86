/** What is known of an upload before its bytes. */
export interface UploadHead {
  /** As the client sent it, with its parameters; empty when absent. */
  readonly contentType: string
  /** Empty when the bytes are not compressed: a watcher sees them as they were sent. */
  readonly contentEncoding: string
  /** Undefined for a chunked body. */
  readonly contentLength: number | undefined
  /** All headers, flat, as they came. */
  readonly headers: readonly string[]
}

/**
 * Watches the bytes of an upload on their way to the provider: every chunk, once, in order, good for keeping.
 * An error that it throws ends the upload at once, cuts the request to the provider and refuses the client's:
 * with the error itself where it is a GatewayError.
 */
export interface UploadWatcher {
  /** A promise holds the chunk back, and asks nothing more of the client, until it is resolved. */
  onData(chunk: Buffer): void | Promise<void>
  /** The client has sent all of it, and the provider has not yet seen the end, nor does it before a promise. */
  onEnd?(): void | Promise<void>
}
