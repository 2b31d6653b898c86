import type { Pool } from 'undici'
import type { Credential, ProviderLimits } from '../config/config.ts'
import type { EgressRoute } from './egress-route.ts'
import type { CredentialHealth } from './provider-health.ts'

/** A request that waits for a connection: exactly one of the two is called, later. */
export interface Waiting {
  onAdmitted(): void
  onWaitedTooLong(): void
}

interface Place {
  readonly accountId: string | undefined
  readonly timer: NodeJS.Timeout
}

/**
 * Limits how many requests a provider has at once, and how many wait. Accounts that wait are served in turns, so that
 * one account with a thousand requests does not block all the others.
 */
export class Admission {
  readonly #limits: ProviderLimits
  readonly #places = new Map<Waiting, Place>()
  /** The requests that wait, by account; the account whose turn is next comes first. */
  readonly #lines = new Map<string | undefined, Set<Waiting>>()
  requests = 0

  constructor(limits: ProviderLimits) {
    this.#limits = limits
  }

  get isFull(): boolean {
    return this.isBusy && this.#places.size >= this.#limits.waitingMax
  }

  /** Whether a request would have to wait. */
  get isBusy(): boolean {
    return this.requests >= this.#limits.connectionsMax
  }

  get waiting(): number {
    return this.#places.size
  }

  /** `now`: send it, and call `leave` at the end. `later`: one of the callbacks follows. `no`: too many wait. */
  enter(waiting: Waiting, accountId?: string): 'now' | 'later' | 'no' {
    if (!this.isBusy) {
      this.requests += 1
      return 'now'
    }
    if (this.isFull) return 'no'
    const timer = setTimeout(() => {
      this.giveUp(waiting)
      waiting.onWaitedTooLong()
    }, this.#limits.waitMs)
    this.#places.set(waiting, { accountId, timer })
    const line = this.#lines.get(accountId)
    if (line === undefined) this.#lines.set(accountId, new Set([waiting]))
    else line.add(waiting)
    return 'later'
  }

  /** Removes a request from the queue; true when it was waiting. */
  giveUp(waiting: Waiting): boolean {
    const place = this.#places.get(waiting)
    if (place === undefined) return false
    clearTimeout(place.timer)
    this.#places.delete(waiting)
    const line = this.#lines.get(place.accountId)
    line?.delete(waiting)
    if (line?.size === 0) this.#lines.delete(place.accountId)
    return true
  }

  /** A request is over; its slot goes to the oldest waiting request of the account whose turn it is. */
  leave(): void {
    for (const [accountId, line] of this.#lines) {
      for (const next of line) {
        this.giveUp(next)
        // The other accounts come first now.
        if (this.#lines.delete(accountId)) this.#lines.set(accountId, line)
        next.onAdmitted()
        return
      }
    }
    this.requests -= 1
  }
}

/** How many failures in a row stop requests for a while. */
const failuresMax = 5
const openMsMin = 2_000
const openMsMax = 60_000

/**
 * Keeps requests from a provider that cannot be reached. When the pause is over, one real request is let through: it
 * closes the breaker or opens it for longer.
 */
export class Breaker {
  #failures = 0
  #openMs = 0
  #openUntil = 0
  #isProbing = false
  #lastAccountId: string | undefined

  /** Whether a request may be sent now; call `enter` when it is. */
  allows(now: number): boolean {
    return this.#openMs === 0 || (!this.#isProbing && now >= this.#openUntil)
  }

  enter(): void {
    if (this.#openMs > 0) this.#isProbing = true
  }

  /** The last requests did not reach the provider, and none has since. */
  get isOpen(): boolean {
    return this.#openMs > 0
  }

  /** For how much longer nothing is sent. */
  restMs(now: number): number {
    return Math.max(0, this.#openUntil - now)
  }

  /** Lets the next request find out whether the provider can be reached. */
  tryNow(): void {
    this.#openUntil = 0
  }

  /** The provider responded, with any status. */
  succeed(): void {
    this.#failures = 0
    this.#openMs = 0
    this.#isProbing = false
    this.#lastAccountId = undefined
  }

  /** The request ended without showing anything about the provider, for example because its client left. */
  leave(): void {
    this.#isProbing = false
  }

  /** The provider could not be reached; no client can cause that. */
  fail(now: number): void {
    this.#failures += 1
    const wasOpen = this.#openMs > 0
    if (!wasOpen && this.#failures < failuresMax) return
    this.#isProbing = false
    this.#openMs = Math.min(openMsMax, Math.max(openMsMin, this.#openMs * 2))
    this.#openUntil = now + this.#openMs
  }

  /**
   * The provider received the request and did not respond. A client can craft a request that has this effect, so
   * failures in a row from one account count once: no account can cut a provider off for the others.
   */
  failAfterSending(now: number, accountId: string | undefined): void {
    if (this.#openMs === 0 && this.#failures > 0 && accountId === this.#lastAccountId) return
    this.#lastAccountId = accountId
    this.fail(now)
  }
}

const suspendMsMin = 300_000
const suspendMsMax = 3_600_000
/** At most this many models cool down at once: model names come from requests. */
const coolingModelsMax = 1000

/**
 * `paused`: an operator keeps clients' requests from it. `suspended`: its provider refuses it. `resting`: the provider
 * could not be reached with it.
 */
export type CredentialReading = 'ready' | 'resting' | 'suspended' | 'paused'

/** What is known about one key of a provider; kept in memory while the process lives. */
export class CredentialState {
  readonly credential: Credential
  readonly breaker = new Breaker()
  readonly admission: Admission
  /** An operator keeps clients' requests from it. */
  isPaused = false
  /** Connections are never shared between two credentials, nor between two egress routes. */
  readonly pools = new Map<EgressRoute, Pool>()
  readonly #coolingUntil = new Map<string, number>()
  #suspendedUntil = 0
  /** 0 until it is suspended, and again once a later probe request has succeeded. */
  #suspendMs = 0
  /** An alarm says that it is refused, perhaps raised under an earlier config, and has not been cleared yet. */
  isAlarmed = false
  /** The one request that finds out whether the key works again. */
  #probe: object | undefined

  constructor(credential: Credential, limits: ProviderLimits) {
    this.credential = credential
    this.admission = new Admission(limits)
  }

  /** After the time of a suspension is over, it still holds for all requests but one until that one succeeds. */
  isSuspended(now: number): boolean {
    return now < this.#suspendedUntil || this.#probe !== undefined
  }

  /** Uses the credential for a request, which is allowed while it is not suspended; call `leave` in the end. */
  enter(request: object): void {
    this.breaker.enter()
    if (this.#suspendMs > 0) this.#probe = request
  }

  /** A request is over, or is tried elsewhere. If it was the probe, another request may become it. */
  leave(request: object): void {
    if (this.#probe === request) this.#probe = undefined
  }

  isCooling(model: string, now: number): boolean {
    const until = this.#coolingUntil.get(model)
    if (until === undefined) return false
    if (now < until) return true
    this.#coolingUntil.delete(model)
    return false
  }

  /** The provider refuses this key or its billing. It is tried again after a while. */
  suspend(now: number): void {
    // Refusals of other requests that were already under way add nothing.
    if (now < this.#suspendedUntil) return
    this.isAlarmed = true
    this.#suspendMs = Math.min(suspendMsMax, Math.max(suspendMsMin, this.#suspendMs * 2))
    this.#suspendedUntil = now + this.#suspendMs
  }

  /**
   * The key worked although an alarm says that it is refused. A request that was under way before a suspension shows
   * nothing about it.
   * @returns whether that ends a suspension
   */
  serve(request: object): boolean {
    if (this.#suspendMs > 0 && this.#probe !== request) return false
    this.isAlarmed = false
    this.#suspendMs = 0
    this.#probe = undefined
    return true
  }

  /** The current state: a suspension lasts until a request succeeds. */
  get state(): CredentialReading {
    if (this.isPaused) return 'paused'
    if (this.#suspendMs > 0) return 'suspended'
    return this.breaker.isOpen ? 'resting' : 'ready'
  }

  /** Ends all pauses: the next request finds out whether it works. */
  tryNow(): void {
    this.#suspendedUntil = 0
    this.#coolingUntil.clear()
    this.breaker.tryNow()
  }

  health(now: number): CredentialHealth {
    const isRefused = this.#suspendMs > 0
    const suspendedMs = Math.max(0, this.#suspendedUntil - now)
    return {
      name: this.credential.name,
      isPaused: this.isPaused,
      state: isRefused ? 'refused' : this.breaker.isOpen ? 'unreachable' : 'works',
      restMs: isRefused ? suspendedMs : this.breaker.restMs(now),
      coolingModels: [...this.#coolingUntil.keys()].filter(model => this.isCooling(model, now)).length,
      requests: this.admission.requests,
      waiting: this.admission.waiting,
    }
  }

  cool(model: string, until: number): void {
    if (this.#coolingUntil.size >= coolingModelsMax) this.#coolingUntil.clear()
    this.#coolingUntil.set(model, until)
  }
}
