import type { Dispatcher } from 'undici'
import { BodyFailedError } from '../bodies/body-failed-error.ts'
import { isSpent } from '../bodies/outgoing-body.ts'
import { GatewayError } from '../errors.ts'
import type { Target } from '../exchange-facts.ts'
import { answerTrailers } from '../http/trailers.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { AnswerSink, ResponseHead, UpstreamControls } from '../pipeline/plugin.ts'
import type { Waiting } from './admission.ts'
import { Attempt, type AttemptOwner } from './attempt.ts'
import { clientLeftPolicy } from './client-left-policy.ts'
import { Itinerary, type Stop } from './itinerary.ts'
import { isJudged, judgeRefusal, type Verdict } from './judge-refusal.ts'
import { exhausted, overloaded } from './provider-state.ts'
import { ownAddresses } from './own-addresses.ts'
import { bodyError, isConnectionFailure, upstreamError } from './upstream-error.ts'
import type { UpstreamFacts } from './upstream-facts.ts'
import type { Upstreams } from './upstreams.ts'

/** What is sent to a target. */
export type RequestFor = (exchange: Exchange, target: Target) => Dispatcher.DispatchOptions

/**
 * Sends an exchange's request and sees to it that an answer comes: tries the next way out, credential or
 * provider where the one before cannot have begun to work, and nothing more once a byte is on its way to
 * the client.
 */
export class UpstreamCall implements UpstreamControls, AttemptOwner, Waiting, UpstreamFacts {
  readonly #exchange: Exchange
  readonly #sink: AnswerSink
  readonly #upstreams: Upstreams
  readonly #requestFor: RequestFor
  readonly #itinerary: Itinerary
  #stop: Stop | undefined
  #attempt: Attempt | undefined
  #hasPlace = false
  /** An answer that was passed over for another attempt; the client gets it when no better one comes. */
  #kept: Attempt | undefined
  #isOver = false
  attemptCount = 0

  constructor(exchange: Exchange, sink: AnswerSink, upstreams: Upstreams, requestFor: RequestFor) {
    this.#exchange = exchange
    this.#sink = sink
    this.#upstreams = upstreams
    this.#requestFor = requestFor
    this.#itinerary = new Itinerary(exchange, upstreams)
  }

  get egressName(): string | undefined {
    return this.#attempt?.route.name
  }

  /** @throws GatewayError when there is nobody to send the request to */
  start(): void {
    const stop = this.#itinerary.first()
    if (stop instanceof GatewayError) throw stop
    this.#enter(stop)
  }

  #enter(stop: Stop): void {
    this.#stop = stop
    stop.credential.enter(this)
    const place = stop.credential.admission.enter(this, this.#exchange.find('key')?.accountId)
    if (place === 'now') this.onAdmitted()
    else if (place === 'no') this.onWaitedTooLong()
  }

  onAdmitted(): void {
    this.#hasPlace = true
    this.#send(this.#stop as Stop)
  }

  onWaitedTooLong(): void {
    const { credential, target } = this.#stop as Stop
    credential.breaker.leave()
    this.#fail(overloaded(target.provider.name))
  }

  #send(stop: Stop): void {
    const { target, provider, credential } = stop
    this.#exchange.set('target', target)
    this.#exchange.onClientLeft = clientLeftPolicy(this.#exchange, target)
    this.#exchange.wasSent = false
    this.attemptCount += 1
    const route = this.#itinerary.route(stop)
    const { isStreaming } = this.#exchange.get('request')
    const way = { stop, route, startedAt: this.#upstreams.now(), isStreaming }
    this.#attempt = new Attempt(this, this.#sink, way)
    const pool = provider.pool(credential, route, target.baseUrl.origin)
    this.#attempt.dispatch(pool, this.#requestFor(this.#exchange, target))
  }

  onStarted(): void {
    this.#exchange.moments.connectedMs = performance.now()
  }

  onSent(): void {
    this.#exchange.wasSent = true
  }

  onInformation(status: number, headers: readonly string[]): void {
    if (this.#upstreams.mayInform(this.#exchange.request.socket)) this.#sink.onInformation(status, headers)
  }

  onHead(attempt: Attempt, { status }: ResponseHead): 'relay' | 'collect' {
    const { credential, target } = attempt.stop
    credential.breaker.succeed()
    attempt.route.succeed()
    if (status >= 400 && (isJudged(status) || target.provider.failover.on.includes(status))) return 'collect'
    if (status < 400) credential.serve(this)
    this.#relay(attempt)
    return 'relay'
  }

  onCollected(attempt: Attempt, isWhole: boolean): void {
    if (!isWhole) {
      this.#relay(attempt)
      return
    }
    this.#release()
    const verdict = judgeRefusal(
      attempt.stop.target.provider.kind,
      attempt.head as ResponseHead,
      attempt.body(),
    )
    this.#learn(verdict, attempt)
    if (this.#mayGoOn(attempt.stop) && this.#goOnAfter(verdict, attempt)) return
    if (verdict.about === 'credential') this.#fail(exhausted(attempt.stop.target.provider.name))
    else this.#relayWhole(attempt)
  }

  /** What an error answer says of the credential and of the way it came. */
  #learn(verdict: Verdict, { stop, route }: Attempt): void {
    const { credential, provider, target } = stop
    const now = this.#upstreams.now()
    if (verdict.about === 'credential') {
      const details = { reason: verdict.code, requestId: this.#exchange.id }
      this.#upstreams.suspend(target.provider, credential, details)
    } else if (verdict.about === 'country') {
      route.bar(`${target.provider.name} does not serve its country`)
    } else if (verdict.about === 'rate' && provider.hasOther(credential, target.upstreamModelName, now)) {
      credential.cool(target.upstreamModelName, now + verdict.waitMs)
    }
  }

  /** Tries elsewhere what a provider has refused without working on it; false when it cannot, or must not. */
  #goOnAfter(verdict: Verdict, attempt: Attempt): boolean {
    const { stop, route } = attempt
    const status = (attempt.head as ResponseHead).status
    if (verdict.about === 'country') {
      if (!this.#itinerary.hasOtherRoute(stop, route, 0)) return false
      this.#report(attempt, verdict.code)
      this.#enter(stop)
      return true
    }
    const isFailover = stop.target.provider.failover.on.includes(status)
    if (verdict.about !== 'credential' && !isFailover) return false
    const next = this.#itinerary.afterRefusal(stop)
    if (next instanceof GatewayError) return false
    if (verdict.about !== 'credential') this.#kept = attempt
    this.#report(attempt, verdict.about === 'credential' ? verdict.code : 'refused')
    this.#enter(next)
    return true
  }

  onEnd(attempt: Attempt): void {
    this.#release()
    this.#sink.onEnd(answerTrailers(attempt.trailers, this.#exchange.request.rawHeaders))
  }

  onError(attempt: Attempt, error: Error): void {
    const { credential, target } = attempt.stop
    const failure = upstreamError(error, attempt.wasStarted, target.provider.name)
    if (error instanceof BodyFailedError && attempt.head === undefined) {
      credential.breaker.leave()
      this.#failBody(bodyError(error))
    } else if (attempt.head !== undefined) {
      // The answer was cut, in what was passed on of it or in what was looked at first.
      this.#release()
      if (!this.#isOver) this.#relay(attempt)
      this.#sink.onError(failure)
    } else if (
      this.#isOver ||
      this.#exchange.hasClientLeft ||
      !(attempt.wasStarted || isConnectionFailure(error))
    ) {
      credential.breaker.leave()
      this.#fail(failure)
    } else if (attempt.wasStarted) {
      credential.breaker.failAfterSending(this.#upstreams.now(), this.#exchange.find('key')?.accountId)
      // An earlier refusal would have the client repeat what may have been worked on here.
      this.#kept = undefined
      this.#fail(failure)
    } else {
      this.#goOnUnconnected(attempt, error, failure)
    }
  }

  /** The request broke off in its body; no answer that was passed over fits it any more. */
  #failBody(failure: GatewayError | undefined): void {
    this.#kept = undefined
    if (failure === undefined) this.#release()
    else this.#fail(failure)
  }

  /** Nothing was sent: the next way out, else the next provider. */
  #goOnUnconnected(attempt: Attempt, error: Error, failure: GatewayError): void {
    const { stop, route } = attempt
    route.fail(error)
    if (this.#mayGoOn(stop) && this.#itinerary.hasOtherRoute(stop, route, 2)) {
      this.#report(attempt, failure.code)
      this.#send(stop)
      return
    }
    stop.credential.breaker.fail(this.#upstreams.now())
    const next = this.#mayGoOn(stop) ? this.#itinerary.afterNoConnection(stop) : undefined
    if (next === undefined) {
      this.#fail(failure)
      return
    }
    this.#release()
    this.#report(attempt, failure.code)
    this.#enter(next)
  }

  #mayGoOn({ target }: Stop): boolean {
    return (
      !this.#isOver &&
      !this.#exchange.hasClientLeft &&
      this.attemptCount < target.provider.failover.attemptsMax &&
      !isSpent(target.body)
    )
  }

  /** From here on the client gets this answer: the head, what was looked at, and what still comes. */
  #relay(attempt: Attempt): void {
    this.#isOver = true
    this.#exchange.set('target', attempt.stop.target)
    if (this.attemptCount > 1) this.#report(attempt, 'relayed')
    const route = this.#exchange.get('route')
    const { publicUrl } = this.#upstreams
    if (attempt.reason !== undefined) this.#exchange.response.statusMessage = attempt.reason
    attempt.relay(this, ({ headers }) => ownAddresses(headers, attempt.stop.target, publicUrl, route))
  }

  #relayWhole(attempt: Attempt): void {
    this.#relay(attempt)
    this.#sink.onEnd(answerTrailers(attempt.trailers, this.#exchange.request.rawHeaders))
  }

  /** Nothing more is tried: the client gets an answer that was passed over, else the error. */
  #fail(failure: GatewayError): void {
    this.#release()
    if (this.#kept !== undefined && !this.#isOver) {
      this.#relayWhole(this.#kept)
      return
    }
    this.#isOver = true
    this.#sink.onError(failure)
  }

  #release(): void {
    this.#stop?.credential.leave(this)
    if (!this.#hasPlace) return
    this.#hasPlace = false
    this.#stop?.credential.admission.leave()
  }

  #report({ stop, route, head, startedAt }: Attempt, result: string): void {
    this.#upstreams.bus.emit('upstream-attempt', this.#exchange, {
      provider: stop.target.provider.name,
      credentialName: stop.credential.credential.name,
      egress: route.name,
      status: head?.status,
      result,
      durationMs: Math.round(this.#upstreams.now() - startedAt),
    })
  }

  pause(): void {
    this.#attempt?.pause()
  }

  resume(): void {
    this.#attempt?.resume()
  }

  abort(reason: Error): void {
    this.#isOver = true
    const credential = this.#stop?.credential
    if (credential?.admission.giveUp(this) === true) {
      credential.breaker.leave()
      credential.leave(this)
    }
    this.#attempt?.abort(reason)
  }
}
