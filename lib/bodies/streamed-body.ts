import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { UploadWatcher } from '../http/upload-watcher.ts'

/**
 * A body that goes from the client to the provider as it comes, and is never held. It can be sent once: when
 * its first byte was taken, no other attempt may follow.
 */
export class StreamedBody {
  /** As the client announced it; undefined for a chunked body. */
  readonly length: number | undefined
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #watchers: UploadWatcher[] = []
  #isTaken = false

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
    const announced = request.headers['content-length']
    this.length = announced === undefined ? undefined : Number(announced)
  }

  /** A byte was taken from the client: it cannot be sent again. */
  get isTaken(): boolean {
    return this.#isTaken
  }

  /** To be called before the body is sent, as by a gate. */
  watch(watcher: UploadWatcher): void {
    this.#watchers.push(watcher)
  }

  /** The bytes, for one attempt. Nothing is asked of the client before somebody reads. */
  open(): Readable {
    return Readable.from(this.#chunks(), { objectMode: false, highWaterMark: 65_536 })
  }

  async *#chunks(): AsyncGenerator<Buffer> {
    this.#isTaken = true
    if (this.#request.headers.expect !== undefined) this.#response.writeContinue()
    for await (const chunk of this.#request.iterator({ destroyOnReturn: false })) {
      for (const watcher of this.#watchers) watcher.onData(chunk as Buffer)
      yield chunk as Buffer
    }
    for (const watcher of this.#watchers) watcher.onEnd?.()
  }
}
