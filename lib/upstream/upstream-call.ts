import type { Dispatcher } from 'undici'
import { BodyFailedError } from '../bodies/client-stream.ts'
import { isSpent } from '../bodies/outgoing-body.ts'
import type { GatewayError } from '../pipeline/errors.ts'
import type { Target } from '../models/choose-provider.ts'
import { responseTrailers } from '../http/headers.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ResponseSink, UpstreamControls } from '../pipeline/plugin.ts'
import { Attempt, type AttemptOwner } from './attempt.ts'
import { AttemptLoop, type AttemptWay } from './attempt-loop.ts'
import type { Destination } from './attempt-plan.ts'
import { ownAddresses } from './upstream-headers.ts'
import { bodyError, upstreamError } from './judge-refusal.ts'
import type { Upstreams } from './upstreams.ts'

/** Builds the request for a target. */
export type RequestFor = (exchange: Exchange, target: Target) => Dispatcher.DispatchOptions

/**
 * Decides what happens to a response whose client has left. It is read to its end where the provider goes on with work,
 * or stores something at a cost or in the account's storage: the gateway must learn its id.
 */
function clientLeftPolicy(exchange: Exchange, { provider }: Target): Exchange['onClientLeft'] {
  const { startsJob, units } = exchange.get('request')
  const isFile = exchange.get('route').match.operation.carriesFile !== undefined
  const isKept = isFile || startsJob === true || units?.cacheStorage !== undefined
  return isKept || exchange.find('job') !== undefined ? 'drain' : provider.onClientLeft
}

/** Sends an exchange's request over HTTP, and pushes the response into the sink. */
export class UpstreamCall extends AttemptLoop<Attempt> implements UpstreamControls, AttemptOwner {
  readonly #exchange: Exchange
  readonly #sink: ResponseSink
  readonly #requestFor: RequestFor
  /** A provider that has the request may do all of its work. */
  protected readonly isIdempotent = false

  constructor(exchange: Exchange, sink: ResponseSink, upstreams: Upstreams, requestFor: RequestFor) {
    super(exchange, upstreams)
    this.#exchange = exchange
    this.#sink = sink
    this.#requestFor = requestFor
  }

  /** @throws GatewayError when no provider or credential can receive the request */
  start(): void {
    this.begin(this.#exchange.get('target'))
  }

  protected attemptAt(way: AttemptWay): Attempt {
    return new Attempt(this, this.#sink, way, this.#exchange.get('request').isStreaming)
  }

  protected send(attempt: Attempt): void {
    const { provider, credential, target } = attempt.stop
    const exchange = this.#exchange
    exchange.onClientLeft = clientLeftPolicy(exchange, target)
    exchange.wasSent = false
    const pool = provider.pool(credential, attempt.route, target.baseUrl.origin)
    attempt.dispatch(pool, this.#requestFor(exchange, target))
  }

  protected isRepeatable({ target }: Destination): boolean {
    return !isSpent(target.body)
  }

  onSent(): void {
    this.#exchange.wasSent = true
  }

  onInformation(status: number, headers: readonly string[]): void {
    if (this.upstreams.mayInform(this.#exchange.request.socket)) this.#sink.onInformation(status, headers)
  }

  onEnd(attempt: Attempt): void {
    this.release()
    this.#end(attempt)
  }

  onError(attempt: Attempt, error: Error): void {
    if (error instanceof BodyFailedError && attempt.head === undefined) {
      this.failBody(attempt, bodyError(error))
    } else if (attempt.head !== undefined) {
      // The response broke off while it was relayed or collected.
      this.passBroken(attempt)
      this.#sink.onError(upstreamError(error, attempt.wasStarted, attempt.stop.target.provider))
    } else {
      this.failAttempt(attempt, error)
    }
  }

  /** Passes on the head and the collected body; the rest follows. */
  protected pass(attempt: Attempt, isWhole: boolean): void {
    const route = this.#exchange.get('route')
    const { publicUrl } = this.upstreams
    const { reason, head, stop } = attempt
    if (reason !== undefined) this.#exchange.response.statusMessage = reason
    attempt.relay(this, head && ownAddresses(head.headers, stop.target, publicUrl, route))
    if (isWhole) this.#end(attempt)
  }

  #end({ trailers }: Attempt): void {
    const hasTrailers = trailers !== undefined && trailers.length > 0
    this.#sink.onEnd(hasTrailers ? responseTrailers(trailers, this.#exchange.request.rawHeaders) : undefined)
  }

  protected refuse(error: GatewayError): void {
    this.#sink.onError(error)
  }

  pause(): void {
    this.attempt?.pause()
  }

  resume(): void {
    this.attempt?.resume()
  }
}
