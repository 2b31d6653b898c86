import { GatewayError } from '../pipeline/errors.ts'
import type { Target } from '../models/choose-provider.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ResponseHead } from '../pipeline/plugin.ts'
import type { Waiting } from './credential-state.ts'
import type { EgressRoute } from './egress-route.ts'
import { AttemptPlan, type Destination, type UpstreamFacts } from './attempt-plan.ts'
import { isJudged, judgeRefusal, type Verdict, isConnectionFailure, upstreamError } from './judge-refusal.ts'
import { exhausted, overloaded } from './provider-state.ts'
import type { Upstreams } from './upstreams.ts'
import { isFailedConnection } from './failed-connection.ts'

/** Where an attempt goes, and when it started by the steady clock. */
export interface AttemptWay {
  readonly stop: Destination
  readonly route: EgressRoute
  readonly startedAt: number
}

/** One request sent to one provider, over any transport. */
export interface TransportAttempt extends AttemptWay {
  /** A byte of the request may have reached the provider. */
  readonly wasStarted: boolean
  readonly head: ResponseHead | undefined
  /** The part of the body that has been collected. */
  body(): Buffer
  abort(reason: Error): void
}

/**
 * Makes attempts until a request has a response: it tries the next egress route, credential or provider when the
 * previous one cannot have started work, and records what each attempt shows about the shared credentials and routes.
 * The transport sends the request and handles its response; it calls `onHead`, and then one of the other callbacks.
 */
export abstract class AttemptLoop<A extends TransportAttempt> implements Waiting, UpstreamFacts {
  protected readonly upstreams: Upstreams
  readonly #exchange: Exchange | undefined
  /** A response is being relayed, or the last attempt has failed: there are no further attempts. */
  protected isOver = false
  protected attempt: A | undefined
  readonly #plan: AttemptPlan
  #stop: Destination | undefined
  #hasPlace = false
  /** A refusal that another attempt follows; the client receives it when no later attempt does better. */
  #kept: A | undefined
  attemptCount = 0

  /** @param exchange undefined for a request of the gateway's own, whose target is pinned */
  constructor(exchange: Exchange | undefined, upstreams: Upstreams) {
    this.#exchange = exchange
    this.upstreams = upstreams
    this.#plan = new AttemptPlan(exchange, upstreams)
  }

  protected abstract attemptAt(way: AttemptWay): A
  /** Sends the request; its callbacks may be called before this returns. */
  protected abstract send(attempt: A): void
  /** Relays this response to the client; unless it is whole, the rest of it follows by itself. */
  protected abstract pass(attempt: A, isWhole: boolean): void
  /** Fails the request: no attempt produced a response. */
  protected abstract refuse(error: GatewayError): void
  /** Whether the request can be sent once more, because its body is still available. */
  protected abstract isRepeatable(stop: Destination): boolean
  /** Whether a request that a provider may have received can be sent elsewhere, because it starts no work. */
  protected abstract readonly isIdempotent: boolean

  get egressName(): string | undefined {
    return this.attempt?.route.name
  }

  /** @throws GatewayError when no provider or credential can receive the request */
  protected begin(target: Target): void {
    const stop = this.#plan.from(target)
    if (stop instanceof GatewayError) throw stop
    this.#enter(stop)
  }

  #enter(stop: Destination): void {
    this.#stop = stop
    stop.credential.enter(this)
    const place = stop.credential.admission.enter(this, this.#exchange?.find('key')?.accountId)
    if (place === 'now') this.onAdmitted()
    else if (place === 'no') this.onWaitedTooLong()
  }

  onAdmitted(): void {
    this.#hasPlace = true
    this.#send(this.#stop as Destination)
  }

  onWaitedTooLong(): void {
    const { credential, target } = this.#stop as Destination
    credential.breaker.leave()
    this.fail(overloaded(target.provider))
  }

  #send(stop: Destination): void {
    this.#exchange?.set('target', stop.target)
    this.attemptCount += 1
    const way = { stop, route: this.#plan.route(stop), startedAt: this.upstreams.now() }
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

  /** The body to be judged: whole, or the part that arrived within the limits of time and size. */
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

  /** Records what an error response shows about the credential and the egress route. */
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

  /** Retries elsewhere after a provider refused without starting work; false when it cannot, or must not. */
  #goOnAfter(verdict: Verdict, attempt: A): boolean {
    const { stop, route } = attempt
    const status = (attempt.head as ResponseHead).status
    if (verdict.about === 'country') {
      if (!this.#plan.hasOtherRoute(stop, route, 0)) return false
      this.#report(attempt, verdict.code)
      this.#enter(stop)
      return true
    }
    const isFailover = stop.target.provider.failover.on.includes(status)
    if (verdict.about !== 'credential' && !isFailover) return false
    const next = this.#plan.afterRefusal(stop)
    if (next instanceof GatewayError) return false
    if (verdict.about !== 'credential') this.#kept = attempt
    this.#report(attempt, verdict.about === 'credential' ? verdict.code : 'refused')
    this.#enter(next)
    return true
  }

  /** The attempt ended without a response. */
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
      // Relaying an earlier refusal would make the client repeat a request that this provider may have worked on.
      if (!this.isIdempotent) this.#kept = undefined
      this.fail(failure)
    } else {
      this.#goOnUnconnected(attempt, error, failure)
    }
  }

  /** The request body broke off; a refusal kept from an earlier attempt no longer applies. */
  protected failBody(attempt: A, failure: GatewayError | undefined): void {
    attempt.stop.credential.breaker.leave()
    this.#kept = undefined
    if (failure === undefined) this.release()
    else this.fail(failure)
  }

  /** Nothing was sent: tries the next egress route, then the next provider. */
  #goOnUnconnected(attempt: A, error: Error, failure: GatewayError): void {
    const { stop, route } = attempt
    // An idle connection was reset just before this request used it: the request is sent on a new one.
    const wasReset = !isFailedConnection(error)
    if (!wasReset) route.fail(error)
    if (this.#mayGoOn(stop) && (wasReset || this.#plan.hasOtherRoute(stop, route, 2))) {
      this.#report(attempt, failure.code)
      this.#send(stop)
      return
    }
    if (wasReset) stop.credential.breaker.leave()
    else stop.credential.breaker.fail(this.upstreams.now())
    if (!this.#goOnUnreached(attempt, failure)) this.fail(failure)
  }

  /** Goes to the next provider: another credential would not reach this one either. */
  #goOnUnreached(attempt: A, failure: GatewayError): boolean {
    const next = this.#mayGoOn(attempt.stop) ? this.#plan.afterNoConnection(attempt.stop) : undefined
    if (next === undefined) return false
    this.release()
    this.#report(attempt, failure.code)
    this.#enter(next)
    return true
  }

  #mayGoOn(stop: Destination): boolean {
    return (
      !this.isOver &&
      this.#exchange?.hasClientLeft !== true &&
      this.attemptCount < stop.target.provider.failover.attemptsMax &&
      this.isRepeatable(stop)
    )
  }

  /** Commits to this response: the client receives it. */
  #pass(attempt: A, isWhole: boolean): void {
    this.isOver = true
    this.#exchange?.set('target', attempt.stop.target)
    if (this.attemptCount > 1) this.#report(attempt, 'relayed')
    this.pass(attempt, isWhole)
  }

  /** Relays what was collected of a response that broke off. */
  protected passBroken(attempt: A): void {
    this.release()
    if (!this.isOver) this.#pass(attempt, false)
  }

  /** Ends the attempts: the client receives the refusal that was kept, or else the error. */
  protected fail(failure: GatewayError): void {
    this.release()
    if (this.#kept !== undefined && !this.isOver) {
      this.#pass(this.#kept, true)
      return
    }
    this.isOver = true
    this.refuse(failure)
  }

  /** Frees the slot that the request holds with its credential. */
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
