import { GatewayError } from '../pipeline/errors.ts'
import type { Target } from '../models/choose-provider.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ResponseHead } from '../pipeline/plugin.ts'
import type { Waiting } from './credential-state.ts'
import type { EgressRoute } from './egress-route.ts'
import { Itinerary, type Stop, type UpstreamFacts } from './itinerary.ts'
import { isJudged, judgeRefusal, type Verdict, isConnectionFailure, upstreamError } from './judge-refusal.ts'
import { exhausted, overloaded } from './provider-state.ts'
import type { Upstreams } from './upstreams.ts'
import { isFailedConnection } from './failed-connection.ts'

/** Where an attempt goes, and since when by the steady clock. */
export interface AttemptWay {
  readonly stop: Stop
  readonly route: EgressRoute
  readonly startedAt: number
}

/** One request on its way to one provider, over whatever transport. */
export interface TransportAttempt extends AttemptWay {
  /** A byte of the request may have reached the provider. */
  readonly wasStarted: boolean
  readonly head: ResponseHead | undefined
  /** What was collected of the body. */
  body(): Buffer
  abort(reason: Error): void
}

/**
 * Sees to it that a request is answered: tries the next way out, credential or provider where the one
 * before cannot have begun to work, and learns from each what holds for everybody's requests. How a request is sent and
 * what becomes of its response is the transport's, which calls `onHead`, and then one of the others.
 */
export abstract class AttemptLoop<A extends TransportAttempt> implements Waiting, UpstreamFacts {
  protected readonly upstreams: Upstreams
  readonly #exchange: Exchange | undefined
  /** A response is passed on, or the last attempt has failed: nothing more is tried. */
  protected isOver = false
  protected attempt: A | undefined
  readonly #itinerary: Itinerary
  #stop: Stop | undefined
  #hasPlace = false
  /** A response that was passed over for another attempt; the client gets it when no better one comes. */
  #kept: A | undefined
  attemptCount = 0

  /** @param exchange undefined for a question of the gateway's own, whose target is pinned */
  constructor(exchange: Exchange | undefined, upstreams: Upstreams) {
    this.#exchange = exchange
    this.upstreams = upstreams
    this.#itinerary = new Itinerary(exchange, upstreams)
  }

  protected abstract attemptAt(way: AttemptWay): A
  /** Sends the request; what comes of it may be told at once. */
  protected abstract send(attempt: A): void
  /** The client gets this response; what of it has not come yet follows by itself, unless it is whole. */
  protected abstract pass(attempt: A, isWhole: boolean): void
  /** Nobody answers. */
  protected abstract refuse(error: GatewayError): void
  /** Whether the request could be sent once more: its body is still there. */
  protected abstract isRepeatable(stop: Stop): boolean
  /** Whether a request may be sent elsewhere that a provider may have received: it asks for no work. */
  protected abstract readonly isIdempotent: boolean

  get egressName(): string | undefined {
    return this.attempt?.route.name
  }

  /** @throws GatewayError when there is nobody to send the request to */
  protected begin(target: Target): void {
    const stop = this.#itinerary.from(target)
    if (stop instanceof GatewayError) throw stop
    this.#enter(stop)
  }

  #enter(stop: Stop): void {
    this.#stop = stop
    stop.credential.enter(this)
    const place = stop.credential.admission.enter(this, this.#exchange?.find('key')?.accountId)
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
    this.fail(overloaded(target.provider))
  }

  #send(stop: Stop): void {
    this.#exchange?.set('target', stop.target)
    this.attemptCount += 1
    const way = { stop, route: this.#itinerary.route(stop), startedAt: this.upstreams.now() }
    this.attempt = this.attemptAt(way)
    this.send(this.attempt)
  }

  onStarted(): void {
    if (this.#exchange !== undefined) this.#exchange.moments.connectedMs = performance.now()
  }

  onHead(attempt: A, { status }: ResponseHead): 'relay' | 'collect' {
    const { credential, target } = attempt.stop
    credential.breaker.succeed()
    if (attempt.route.isAlarmed) attempt.route.succeed()
    if (status >= 400 && (isJudged(status) || target.provider.failover.on.includes(status))) return 'collect'
    if (status < 400 && credential.isAlarmed) this.upstreams.serve(target.provider, credential, this)
    this.#pass(attempt, false)
    return 'relay'
  }

  /** The body that was to be looked at: whole, or as much of it as may be waited for. */
  onCollected(attempt: A, isWhole: boolean): void {
    if (!isWhole) {
      this.#pass(attempt, false)
      return
    }
    this.release()
    const { target } = attempt.stop
    const verdict = judgeRefusal(target.provider.kind, attempt.head as ResponseHead, attempt.body())
    this.#learn(verdict, attempt)
    if (this.#mayGoOn(attempt.stop) && this.#goOnAfter(verdict, attempt)) return
    if (verdict.about === 'credential') this.fail(exhausted(target.provider))
    else this.#pass(attempt, true)
  }

  /** What an error response says of the credential and of the way it came. */
  #learn(verdict: Verdict, { stop, route }: A): void {
    const { credential, provider, target } = stop
    const now = this.upstreams.now()
    if (verdict.about === 'credential') {
      const details = { reason: verdict.code, requestId: this.#exchange?.id }
      this.upstreams.suspend(target.provider, credential, details)
    } else if (verdict.about === 'country') {
      route.bar(`${target.provider.name} does not serve its country`)
    } else if (verdict.about === 'rate' && provider.hasOther(credential, target.upstreamModelName, now)) {
      credential.cool(target.upstreamModelName, now + verdict.waitMs)
    }
  }

  /** Tries elsewhere what a provider has refused without working on it; false when it cannot, or must not. */
  #goOnAfter(verdict: Verdict, attempt: A): boolean {
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

  /** No response came. */
  protected failAttempt(attempt: A, error: Error): void {
    const { credential, target } = attempt.stop
    const failure = upstreamError(error, attempt.wasStarted, target.provider)
    const isOurs = !(attempt.wasStarted || isConnectionFailure(error))
    if (this.isOver || this.#exchange?.hasClientLeft === true || isOurs) {
      credential.breaker.leave()
      this.fail(failure)
    } else if (attempt.wasStarted) {
      credential.breaker.failAfterSending(this.upstreams.now(), this.#exchange?.find('key')?.accountId)
      if (this.isIdempotent && this.#goOnUnreached(attempt, failure)) return
      // An earlier refusal would have the client repeat what may have been worked on here.
      if (!this.isIdempotent) this.#kept = undefined
      this.fail(failure)
    } else {
      this.#goOnUnconnected(attempt, error, failure)
    }
  }

  /** The request broke off in its body; no response that was passed over fits it any more. */
  protected failBody(attempt: A, failure: GatewayError | undefined): void {
    attempt.stop.credential.breaker.leave()
    this.#kept = undefined
    if (failure === undefined) this.release()
    else this.fail(failure)
  }

  /** Nothing was sent: the next way out, else the next provider. */
  #goOnUnconnected(attempt: A, error: Error, failure: GatewayError): void {
    const { stop, route } = attempt
    // A connection that stood idle was reset when this request was about to take it: another is made.
    const wasReset = !isFailedConnection(error)
    if (!wasReset) route.fail(error)
    if (this.#mayGoOn(stop) && (wasReset || this.#itinerary.hasOtherRoute(stop, route, 2))) {
      this.#report(attempt, failure.code)
      this.#send(stop)
      return
    }
    if (wasReset) stop.credential.breaker.leave()
    else stop.credential.breaker.fail(this.upstreams.now())
    if (!this.#goOnUnreached(attempt, failure)) this.fail(failure)
  }

  /** Another credential would not reach the provider either. */
  #goOnUnreached(attempt: A, failure: GatewayError): boolean {
    const next = this.#mayGoOn(attempt.stop) ? this.#itinerary.afterNoConnection(attempt.stop) : undefined
    if (next === undefined) return false
    this.release()
    this.#report(attempt, failure.code)
    this.#enter(next)
    return true
  }

  #mayGoOn(stop: Stop): boolean {
    return (
      !this.isOver &&
      this.#exchange?.hasClientLeft !== true &&
      this.attemptCount < stop.target.provider.failover.attemptsMax &&
      this.isRepeatable(stop)
    )
  }

  /** From here on the client gets this response. */
  #pass(attempt: A, isWhole: boolean): void {
    this.isOver = true
    this.#exchange?.set('target', attempt.stop.target)
    if (this.attemptCount > 1) this.#report(attempt, 'relayed')
    this.pass(attempt, isWhole)
  }

  /** What was collected of a response that broke off is passed on too. */
  protected passBroken(attempt: A): void {
    this.release()
    if (!this.isOver) this.#pass(attempt, false)
  }

  /** Nothing more is tried: the client gets a response that was passed over, else the error. */
  protected fail(failure: GatewayError): void {
    this.release()
    if (this.#kept !== undefined && !this.isOver) {
      this.#pass(this.#kept, true)
      return
    }
    this.isOver = true
    this.refuse(failure)
  }

  /** Gives the credential's place free. */
  protected release(): void {
    this.#stop?.credential.leave(this)
    if (!this.#hasPlace) return
    this.#hasPlace = false
    this.#stop?.credential.admission.leave()
  }

  #report({ stop, route, head, startedAt }: A, result: string): void {
    this.upstreams.bus.emit('upstream-attempt', this.#exchange, {
      provider: stop.target.provider.name,
      credentialName: stop.credential.credential.name,
      egress: route.name,
      status: head?.status,
      result,
      durationMs: Math.round(this.upstreams.now() - startedAt),
    })
  }

  abort(reason: Error): void {
    this.isOver = true
    const credential = this.#stop?.credential
    if (credential?.admission.giveUp(this) === true) {
      credential.breaker.leave()
      credential.leave(this)
    }
    this.attempt?.abort(reason)
  }
}
