import type { Socket } from 'node:net'
import { errors, type Dispatcher } from 'undici'
import { responseHeaders, headerValue, latin1Headers } from '../http/headers.ts'
import { nodeHttp } from '../platform/node-http.ts'
import type { ResponseSink, ResponseHead, UpstreamControls } from '../pipeline/plugin.ts'
import type { AttemptWay, TransportAttempt } from './attempt-loop.ts'
import type { EgressRoute } from './egress-route.ts'
import type { Stop } from './itinerary.ts'
import { takeNextSocket, type SocketTaker, StraightBody, type BodySink } from './straight-body.ts'

/** Whoever makes the attempts, and decides what becomes of each. */
export interface AttemptOwner {
  /** A connection takes the request. */
  onStarted(): void
  /** Every byte of the request is on its way: the provider may do all of the work. */
  onSent(): void
  /** An informational response; headers flat. */
  onInformation(status: number, headers: readonly string[]): void
  /** Whether the answer is passed on as it comes, or its body looked at first. */
  onHead(attempt: Attempt, head: ResponseHead): 'relay' | 'collect'
  /** The body that was to be looked at: whole, or as much of it as may be waited for. */
  onCollected(attempt: Attempt, isWhole: boolean): void
  onEnd(attempt: Attempt): void
  onError(attempt: Attempt, error: Error): void
}

/** How much of an error's body is read before it is passed on, and for how long. */
const collectedBytesMax = 65_536
const collectMs = 2_000
/** A silence is looked for so often while it lasts: a frame that comes sets no timer. */
const looksInSilence = 8
/** What is read of a body before all others have their turn: it may be a million values, of which each must be read. */
const turnBytes = 65_536
/** Pieces of at least so many bytes are timed; what took so long to read lets the others have as long before it goes on. */
const timedBytes = 16_384
const longMs = 1
/** Each is a sign that the response is worked on, so undici waits anew: one a minute could go on for ever. */
const informationsMax = 100
/** undici reads them as UTF-8, node:http writes latin1. */
const plainWords = /^[\t\x20-\x7e]+$/

/** One request on its way to one provider: undici's handler for it. It can be stopped at any time. */
export class Attempt implements TransportAttempt, Dispatcher.DispatchHandler, SocketTaker, BodySink {
  readonly #owner: AttemptOwner
  readonly #sink: ResponseSink
  #controller: Dispatcher.DispatchController | undefined
  #abortReason: Error | undefined
  #informations = 0
  head: ResponseHead | undefined
  #reason: string | undefined
  #collected: Buffer[] | undefined
  #collectedBytes = 0
  #timer: NodeJS.Timeout | undefined
  /** Bytes of the body still to come; undefined where no length was announced. */
  #remaining: number | undefined
  /** What came behind the body, as it came. */
  trailers: readonly Buffer[] | undefined
  /** A byte of the request may have reached the provider. */
  wasStarted = false
  /** Who reads the body of a stream; undefined for all else, which undici reads. */
  #straight: StraightBody | undefined
  /** How long a stream may say nothing; undefined for all else, of which undici takes the time. */
  readonly #silenceMs: number | undefined
  #silenceTimer: NodeJS.Timeout | undefined
  /** How often nothing had come since the look before. */
  #silentLooks = 0
  #isPaused = false
  #bytesToTurn = turnBytes
  /** The others have their turn before more is read. */
  #isTurnOver = false
  #hasEnded = false

  readonly stop: Stop
  readonly route: EgressRoute
  /** By the steady clock. */
  readonly startedAt: number

  constructor(owner: AttemptOwner, sink: ResponseSink, way: AttemptWay, isStreaming: boolean) {
    this.#owner = owner
    this.#sink = sink
    this.stop = way.stop
    this.route = way.route
    this.startedAt = way.startedAt
    if (!isStreaming) return
    const { credential, target } = way.stop
    this.#silenceMs = (credential.credential.timeouts ?? target.provider.timeouts).silenceMs
  }

  /** Of a stream undici is to time no silence: it does not hear what comes past it. */
  dispatch(pool: Dispatcher, request: Dispatcher.DispatchOptions): void {
    pool.dispatch(this.#silenceMs === undefined ? request : { ...request, bodyTimeout: 0 }, this)
  }

  /** The words behind the status; undefined where there are none that can be written again as they came. */
  get reason(): string | undefined {
    const status = this.head?.status ?? 0
    // Of a line in two segments undici tells the end alone: `K` for `OK`.
    if (this.#reason === undefined || nodeHttp.STATUS_CODES[status]?.endsWith(this.#reason) === true)
      return undefined
    return plainWords.test(this.#reason) ? this.#reason : undefined
  }

  /** What was collected of the body. */
  body(): Buffer {
    return Buffer.concat(this.#collected ?? [])
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#abortReason !== undefined) {
      controller.abort(this.#abortReason)
      return
    }
    this.wasStarted = true
    takeNextSocket(this.#silenceMs === undefined ? undefined : this)
    this.#owner.onStarted()
  }

  onSocket(socket: Socket): void {
    this.#straight = new StraightBody(socket, this)
  }

  onRequestSent(): void {
    this.#owner.onSent()
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    reason?: string,
  ): void {
    if (status < 200) {
      this.#straight?.awaitNextHead()
      this.#inform(controller, status)
      return
    }
    this.#reason = reason
    const headers = latin1Headers(controller.rawHeaders as readonly Buffer[])
    const length = headerValue(headers, 'content-length')
    const coding = headerValue(headers, 'transfer-encoding')
    const contentLength = length === undefined || coding !== undefined ? undefined : Number(length)
    if (contentLength !== undefined) this.#remaining = contentLength
    const head = { status, headers: responseHeaders(headers), contentLength }
    this.head = head
    this.#watchSilence()
    if (this.#owner.onHead(this, head) === 'relay') {
      // Framed by chunks, and by nothing else that a parser has to decide on.
      if (coding?.toLowerCase() === 'chunked' && length === undefined) this.#straight?.read()
      else this.#straight?.leave()
      return
    }
    this.#straight?.leave()
    this.#collected = []
    this.#timer = setTimeout(() => this.#owner.onCollected(this, false), collectMs)
  }

  /** 102, 103 and the like; undici fails a 100 that nobody asked for. */
  #inform(controller: Dispatcher.DispatchController, status: number): void {
    this.#informations += 1
    if (this.#informations > informationsMax)
      controller.abort(new Error(`More than ${informationsMax} informational responses came.`))
    else {
      const headers = latin1Headers(controller.rawHeaders as readonly Buffer[])
      this.#owner.onInformation(status, responseHeaders(headers))
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.onBody(chunk, false)
  }

  onBody(chunk: Buffer, isLast: boolean, framed?: Buffer): void {
    this.#silentLooks = 0
    if (this.#remaining !== undefined) this.#remaining -= chunk.length
    if (this.#collected === undefined) {
      const isTimed = chunk.length >= timedBytes
      const began = isTimed ? performance.now() : 0
      this.#sink.onData(chunk, isLast, framed)
      const tookMs = isTimed ? performance.now() - began : 0
      this.#bytesToTurn -= chunk.length
      if (this.#bytesToTurn <= 0 || tookMs > longMs) this.#endTurn(tookMs)
      return
    }
    this.#collected.push(chunk)
    this.#collectedBytes += chunk.length
    if (this.#collectedBytes <= collectedBytesMax) return
    clearTimeout(this.#timer)
    this.#owner.onCollected(this, false)
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.#hasEnded = true
    clearInterval(this.#silenceTimer)
    this.trailers = (controller.rawTrailers as readonly Buffer[] | null) ?? undefined
    clearTimeout(this.#timer)
    if (this.#collected === undefined) this.#owner.onEnd(this)
    else this.#owner.onCollected(this, true)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#hasEnded = true
    clearTimeout(this.#timer)
    clearInterval(this.#silenceTimer)
    this.#owner.onError(this, error)
  }

  /** Passes on the head and what was collected; what still comes follows by itself. */
  relay(controls: UpstreamControls, headers = this.head?.headers ?? []): void {
    clearTimeout(this.#timer)
    const collected = this.#collected ?? []
    this.#collected = undefined
    if (this.head !== undefined) this.#sink.onHead({ ...this.head, headers }, controls)
    for (const chunk of collected) this.#sink.onData(chunk)
  }

  /** Immediates run once in a turn of the event loop, after the sockets were read. */
  #endTurn(tookMs: number): void {
    this.#bytesToTurn = turnBytes
    if (this.#isTurnOver || this.#hasEnded) return
    this.#isTurnOver = true
    this.#stopReading()
    const goOn = (): void => {
      this.#isTurnOver = false
      if (!this.#isPaused) this.#readOn()
    }
    if (tookMs > longMs) setTimeout(goOn, tookMs)
    else setImmediate(goOn)
  }

  /**
   * Nothing comes after the last byte, so there is nothing to pause; and undici would take the provider's FIN
   * for a cut while its parser rests between that byte and the end of the message.
   */
  #stopReading(): void {
    if (this.#straight?.isReading === true) this.#straight.pause()
    else if (this.#remaining !== 0) this.#controller?.pause()
  }

  #readOn(): void {
    this.#straight?.resume()
    if (!this.#hasEnded) this.#controller?.resume()
  }

  pause(): void {
    this.#isPaused = true
    this.#stopReading()
  }

  resume(): void {
    this.#isPaused = false
    this.#silentLooks = 0
    if (!this.#isTurnOver) this.#readOn()
  }

  /** As undici's own timer, which does not hear what comes past it. A client that is waited for is no silence. */
  #watchSilence(): void {
    if (this.#silenceMs === undefined) return
    const look = (): void => {
      if (!this.#isPaused) this.#silentLooks += 1
      if (this.#silentLooks > looksInSilence) this.#controller?.abort(new errors.BodyTimeoutError())
    }
    this.#silenceTimer = setInterval(look, Math.ceil(this.#silenceMs / looksInSilence)).unref()
  }

  abort(reason: Error): void {
    clearInterval(this.#silenceTimer)
    this.#abortReason = reason
    this.#controller?.abort(reason)
  }
}
