import type { Socket } from 'node:net'
import { errors, type Dispatcher } from 'undici'
import { responseHeaders, headerValue, latin1Headers } from '../http/headers.ts'
import { nodeHttp } from '../platform/node-http.ts'
import type { ResponseSink, ResponseHead, UpstreamControls } from '../pipeline/plugin.ts'
import type { AttemptWay, TransportAttempt } from './attempt-loop.ts'
import type { EgressRoute } from './egress-route.ts'
import type { Destination } from './attempt-plan.ts'
import { takeNextSocket, type SocketReceiver, StraightBody, type BodySink } from './straight-body.ts'

/** Makes the attempts and decides what happens to each. */
export interface AttemptOwner {
  /** The request has been assigned to a connection. */
  onStarted(): void
  /** Every byte of the request has been sent: the provider may do all of the work. */
  onSent(): void
  /** An informational response; headers flat. */
  onInformation(status: number, headers: readonly string[]): void
  /** Decides whether the response is relayed as it arrives, or its body is collected first. */
  onHead(attempt: Attempt, head: ResponseHead): 'relay' | 'collect'
  /** The body to be judged: whole, or the part that arrived within the limits of time and size. */
  onCollected(attempt: Attempt, isWhole: boolean): void
  onEnd(attempt: Attempt): void
  onError(attempt: Attempt, error: Error): void
}

/** How much of an error's body is collected before it is passed on, and for how long. */
const collectedBytesMax = 65_536
const collectMs = 2_000
/** How often a timeout for silence is checked within its time: checking at intervals avoids a timer per frame. */
const silenceChecks = 8
/** How much of a body is read before other exchanges run: it may hold a million values, each of which is parsed. */
const turnBytes = 65_536
/** Pieces of at least this size are timed; after a piece that took longer than `longMs`, reading pauses as long. */
const timedBytes = 16_384
const longMs = 1
/** Each informational response restarts undici's timeout: one a minute could go on for ever. */
const informationsMax = 100
/** undici decodes the reason phrase as UTF-8, and node:http writes it as latin1. */
const plainWords = /^[\t\x20-\x7e]+$/

/** One request sent to one provider: undici's handler for it. It can be aborted at any time. */
export class Attempt implements TransportAttempt, Dispatcher.DispatchHandler, SocketReceiver, BodySink {
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
  /** The trailers, as received. */
  trailers: readonly Buffer[] | undefined
  /** A byte of the request may have reached the provider. */
  wasStarted = false
  /** Reads the body of a stream past undici; undefined for all other responses, which undici reads. */
  #straight: StraightBody | undefined
  /** How long a stream may stay silent; undefined for all other responses, which undici times. */
  readonly #silenceMs: number | undefined
  #silenceTimer: NodeJS.Timeout | undefined
  /** How many checks in a row found that nothing had arrived. */
  #silentChecks = 0
  #isPaused = false
  #bytesToTurn = turnBytes
  /** Reading has paused so that other exchanges run. */
  #isTurnOver = false
  #hasEnded = false

  readonly stop: Destination
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

  /** Turns off undici's body timeout for a stream: undici does not see the bytes that are read past it. */
  dispatch(pool: Dispatcher, request: Dispatcher.DispatchOptions): void {
    pool.dispatch(this.#silenceMs === undefined ? request : { ...request, bodyTimeout: 0 }, this)
  }

  /** The reason phrase of the status line; undefined when there is none that can be written exactly as received. */
  get reason(): string | undefined {
    const status = this.head?.status ?? 0
    // When the status line arrives in two segments, undici reports only the end of the phrase: `K` for `OK`.
    if (this.#reason === undefined || nodeHttp.STATUS_CODES[status]?.endsWith(this.#reason) === true)
      return undefined
    return plainWords.test(this.#reason) ? this.#reason : undefined
  }

  /** The part of the body that has been collected. */
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
      // Chunked framing with no Content-Length leaves a parser nothing else to decide.
      if (coding?.toLowerCase() === 'chunked' && length === undefined) this.#straight?.read()
      else this.#straight?.leave()
      return
    }
    this.#straight?.leave()
    this.#collected = []
    this.#timer = setTimeout(() => this.#owner.onCollected(this, false), collectMs)
  }

  /** 102, 103 and so on; undici itself fails an unrequested 100. */
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
    this.#silentChecks = 0
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

  /** Passes on the head and the collected body; later chunks follow by themselves. */
  relay(controls: UpstreamControls, headers = this.head?.headers ?? []): void {
    clearTimeout(this.#timer)
    const collected = this.#collected ?? []
    this.#collected = undefined
    if (this.head !== undefined) this.#sink.onHead({ ...this.head, headers }, controls)
    for (const chunk of collected) this.#sink.onData(chunk)
  }

  /** Pauses reading; immediates run once per iteration of the event loop, after the sockets were read. */
  #endTurn(tookMs: number): void {
    this.#bytesToTurn = turnBytes
    if (this.#isTurnOver || this.#hasEnded) return
    this.#isTurnOver = true
    this.#stopReading()
    const readAgain = (): void => {
      this.#isTurnOver = false
      if (!this.#isPaused) this.#readOn()
    }
    if (tookMs > longMs) setTimeout(readAgain, tookMs)
    else setImmediate(readAgain)
  }

  /**
   * Does nothing after the last byte, since nothing follows it; and undici would mistake the provider's FIN for a cut
   * while its parser is paused between that byte and the end of the message.
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
    this.#silentChecks = 0
    if (!this.#isTurnOver) this.#readOn()
  }

  /**
   * Replaces undici's body timeout, which does not see bytes read past it. A pause for a slow client does not count.
   */
  #watchSilence(): void {
    if (this.#silenceMs === undefined) return
    const check = (): void => {
      if (!this.#isPaused) this.#silentChecks += 1
      if (this.#silentChecks > silenceChecks) this.#controller?.abort(new errors.BodyTimeoutError())
    }
    this.#silenceTimer = setInterval(check, Math.ceil(this.#silenceMs / silenceChecks)).unref()
  }

  abort(reason: Error): void {
    clearInterval(this.#silenceTimer)
    this.#abortReason = reason
    this.#controller?.abort(reason)
  }
}
