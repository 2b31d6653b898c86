import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { UploadWatcher } from '../http/upload-watcher.ts'
import { writeInformation } from '../pipeline/write-information.ts'
import { ClientStream } from './client-stream.ts'

/**
 * A body that goes from the client to the provider as it comes, and is never held. It can be sent once: when
 * its first byte was asked for, no other attempt may follow.
 */
export class StreamedBody {
  /** As the client announced it; undefined for a chunked body. */
  readonly length: number | undefined
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #silenceMs: number
  readonly #watchers: UploadWatcher[] = []
  /** The client was asked for bytes, which cannot be sent again. */
  isTaken = false

  /** @param silenceMs how long the client may send nothing while it is asked to */
  constructor(request: IncomingMessage, response: ServerResponse, silenceMs: number) {
    this.#request = request
    this.#response = response
    this.#silenceMs = silenceMs
    const announced = request.headers['content-length']
    this.length = announced === undefined ? undefined : Number(announced)
  }

  /** To be called before the body is sent, as by a gate. */
  watch(watcher: UploadWatcher): void {
    this.#watchers.push(watcher)
  }

  /** The bytes, for one attempt. Nothing is asked of the client before somebody reads. */
  open(): Readable {
    return new ClientStream({
      request: this.#request,
      watchers: this.#watchers,
      silenceMs: this.#silenceMs,
      onBegin: () => {
        this.isTaken = true
        // All gates have let it pass, and a connection to the provider stands.
        if (this.#request.headers.expect !== undefined) writeInformation(this.#response, 100)
      },
    })
  }
}
