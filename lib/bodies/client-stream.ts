import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { GatewayError } from '../pipeline/errors.ts'
import type { UploadWatcher } from '../http/upload-watcher.ts'
import { countPassed } from '../platform/collect-garbage.ts'
import { writeInformation } from '../pipeline/write-information.ts'

/** The client closed its connection while its request was being read. There is no one to respond to. */
export class ClientLeftError extends Error {
  constructor() {
    super('The client left while its request was being read.')
    this.name = 'ClientLeftError'
  }
}

interface ClientStreamOptions {
  readonly request: IncomingMessage
  readonly watchers?: readonly UploadWatcher[]
  /** How long the body may take to arrive; unlimited by default. */
  readonly timeMs?: number
  /** How long the client may send nothing while the gateway is reading; unlimited by default. */
  readonly silenceMs?: number
  /** Called just before the first byte is requested from the client. */
  readonly onBegin?: () => void
}

/**
 * A body could not be sent to its end for a reason of its own, which is the cause: its client left or was too slow, a
 * watcher refused it, its file could not be read. It says nothing about the provider.
 */
export class BodyFailedError extends Error {
  constructor(cause: Error) {
    super('The body of the request could not be sent to its end.', { cause })
    this.name = 'BodyFailedError'
  }
}

/**
 * The bytes of a body as its client sends them, no faster than they are read. The stream fails with a BodyFailedError
 * when the client leaves or is too slow, or a watcher refuses what it sees. The request itself is not destroyed, so
 * that a response can still be written.
 */
export class ClientStream extends Readable {
  readonly #options: ClientStreamOptions
  #isBegun = false
  /** Set while a watcher delays a chunk. */
  #held: Promise<unknown> | undefined
  #silenceTimer: NodeJS.Timeout | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: ClientStreamOptions) {
    super({ highWaterMark: 65_536 })
    this.#options = options
  }

  override _read(): void {
    if (!this.#isBegun) this.#begin()
    if (this.#held !== undefined) return
    this.#expect()
    this.#options.request.resume()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const { request } = this.#options
    this.#stopTimers()
    if (this.#isBegun) {
      request.off('data', this.#onData)
      request.off('end', this.#onEnd)
      request.off('error', this.#onGone)
      request.off('close', this.#onGone)
      request.on('error', ignoreLateError)
      // The remaining bytes are unused; the code that responds decides how much of them is read.
      if (!request.complete) request.pause()
    }
    callback(error)
  }

  #begin(): void {
    this.#isBegun = true
    const { request, timeMs, onBegin } = this.#options
    onBegin?.()
    request.on('data', this.#onData)
    request.once('end', this.#onEnd)
    request.once('error', this.#onGone)
    request.once('close', this.#onGone)
    if (timeMs !== undefined) this.#timer = setTimeout(() => this.#fail(tooSlow(timeMs)), timeMs)
  }

  readonly #onData = (chunk: Buffer): void => {
    countPassed(chunk.length)
    this.#tell(
      watcher => watcher.onData(chunk),
      () => this.#pass(chunk),
    )
  }

  #pass(chunk: Buffer): void {
    const { request } = this.#options
    if (this.push(chunk)) {
      this.#expect()
      if (request.isPaused()) request.resume()
      return
    }
    this.#rest()
  }

  readonly #onEnd = (): void => {
    this.#stopTimers()
    this.#options.request.off('close', this.#onGone)
    this.#tell(
      watcher => watcher.onEnd?.(),
      () => this.push(null),
    )
  }

  /** Shows a chunk to all watchers, and continues when none of them delays it. */
  #tell(see: (watcher: UploadWatcher) => void | Promise<void>, goOn: () => void): void {
    const waits: (void | Promise<void>)[] = []
    try {
      for (const watcher of this.#options.watchers ?? []) waits.push(see(watcher))
    } catch (error) {
      this.#fail(error as Error)
      return
    }
    if (this.#held === undefined && waits.every(wait => wait === undefined)) {
      goOn()
      return
    }
    this.#rest()
    const held = Promise.all([this.#held, ...waits]).then(
      () => {
        if (this.#held === held) this.#held = undefined
        if (!this.destroyed) goOn()
      },
      (error: unknown) => this.#fail(error as Error),
    )
    this.#held = held
  }

  /** Stops the timer while nothing is read from the client. */
  #rest(): void {
    clearTimeout(this.#silenceTimer)
    this.#silenceTimer = undefined
    this.#options.request.pause()
  }

  readonly #onGone = (): void => this.#fail(new ClientLeftError())

  /** Starts the timer within which the client must send something. */
  #expect(): void {
    const { silenceMs } = this.#options
    if (silenceMs === undefined) return
    if (this.#silenceTimer !== undefined) {
      this.#silenceTimer.refresh()
      return
    }
    this.#silenceTimer = setTimeout(() => {
      const message = `Nothing of the request's body came for ${silenceMs} ms.`
      this.#fail(new GatewayError('request_timeout', message))
    }, silenceMs)
  }

  #stopTimers(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#silenceTimer)
  }

  #fail(cause: Error): void {
    this.destroy(new BodyFailedError(cause))
  }
}

/** The error for a body that did not arrive in time. */
export function tooSlow(timeMs: number): GatewayError {
  return new GatewayError('request_timeout', `The body of the request did not come in ${timeMs} ms.`)
}

/** The exchange already knows; node:http emits another error when the socket closes. */
function ignoreLateError(): void {
  return undefined
}

/**
 * A body that streams from the client to the provider and is never stored. It can be sent once: after its first byte
 * was read, no other attempt can follow.
 */
export class StreamedBody {
  /** As the client announced it; undefined for a chunked body. */
  readonly length: number | undefined
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #silenceMs: number
  readonly #watchers: UploadWatcher[] = []
  /** Bytes have been read from the client, which cannot be sent again. */
  isTaken = false

  /** @param silenceMs how long the client may send nothing while the gateway is reading */
  constructor(request: IncomingMessage, response: ServerResponse, silenceMs: number) {
    this.#request = request
    this.#response = response
    this.#silenceMs = silenceMs
    const announced = request.headers['content-length']
    this.length = announced === undefined ? undefined : Number(announced)
  }

  /** Must be called before the body is sent, for example by a gate. */
  watch(watcher: UploadWatcher): void {
    this.#watchers.push(watcher)
  }

  /** The bytes, for one attempt. Nothing is read from the client before the stream is read. */
  open(): Readable {
    return new ClientStream({
      request: this.#request,
      watchers: this.#watchers,
      silenceMs: this.#silenceMs,
      onBegin: () => {
        this.isTaken = true
        // All gates have passed the request, and a connection to the provider is established.
        if (this.#request.headers.expect !== undefined) writeInformation(this.#response, 100)
      },
    })
  }
}
