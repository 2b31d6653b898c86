import type { Pool } from 'undici'
import type { Credential, ProviderLimits } from '../config/config.ts'
import type { EgressRoute } from './egress-route.ts'
import type { CredentialHealth } from './provider-health.ts'

/** Somebody who waits for a connection: told exactly one of the two, later. */
export interface Waiting {
  onAdmitted(): void
  onWaitedTooLong(): void
}

interface Place {
  readonly accountId: string | undefined
  readonly timer: NodeJS.Timeout
}

/**
 * Bounds how many requests are with a provider at once, and how many wait to be. Accounts that wait go by
 * turns, so that one with a thousand requests keeps nobody else waiting behind them all.
 */
export class Admission {
  readonly #limits: ProviderLimits
  readonly #places = new Map<Waiting, Place>()
  /** Who waits for each account, those first whose turn is next. */
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

  /** `now`: go, and call `leave` at the end. `later`: one of the calls comes. `no`: too many wait. */
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

  /** Whoever waits does no longer want to; true when it was waiting. */
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

  /** A request is over; its place goes to whom has waited longest of the account whose turn it is. */
  leave(): void {
    for (const [accountId, line] of this.#lines) {
      for (const next of line) {
        this.giveUp(next)
        // The others come first now.
        if (this.#lines.delete(accountId)) this.#lines.set(accountId, line)
        next.onAdmitted()
        return
      }
    }
    this.requests -= 1
  }
}

/** Failures in a row after which nothing is sent for a while. */
const failuresMax = 5
const openMsMin = 2_000
const openMsMax = 60_000

/**
 * Keeps requests from a provider that cannot be reached. When its time is over one real request is let
 * through: it closes the breaker or opens it for longer.
 */
export class Breaker {
  #failures = 0
  #openMs = 0
  #openUntil = 0
  #isProbing = false
  #lastAccountId: string | undefined

  /** Whether a request may go now; `enter` must follow when it does. */
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

  /** How long nothing is sent yet. */
  restMs(now: number): number {
    return Math.max(0, this.#openUntil - now)
  }

  /** The next request may find out whether it can be reached. */
  tryNow(): void {
    this.#openUntil = 0
  }

  /** It answered, whatever it said. */
  succeed(): void {
    this.#failures = 0
    this.#openMs = 0
    this.#isProbing = false
    this.#lastAccountId = undefined
  }

  /** The request ended without telling anything of the provider, as when its client left. */
  leave(): void {
    this.#isProbing = false
  }

  /** It could not be reached; no client has a part in that. */
  fail(now: number): void {
    this.#failures += 1
    const wasOpen = this.#openMs > 0
    if (!wasOpen && this.#failures < failuresMax) return
    this.#isProbing = false
    this.#openMs = Math.min(openMsMax, Math.max(openMsMin, this.#openMs * 2))
    this.#openUntil = now + this.#openMs
  }

  /**
   * It has the request and did not answer. A request can be made such that a provider does that, so the
   * failures of one account in a row count once: nobody switches a provider off for the others.
   */
  failAfterSending(now: number, accountId: string | undefined): void {
    if (this.#openMs === 0 && this.#failures > 0 && accountId === this.#lastAccountId) return
    this.#lastAccountId = accountId
    this.fail(now)
  }
}

const suspendMsMin = 300_000
const suspendMsMax = 3_600_000
/** More models than this are not cooled down at once: names come from requests. */
const coolingModelsMax = 1000

/**
 * `paused`: an operator keeps clients' requests from it. `suspended`: refused by its provider. `resting`: the provider
 * could not be reached with it.
 */
export type CredentialReading = 'ready' | 'resting' | 'suspended' | 'paused'

/** What is known of one key of a provider while the process lives. */
export class CredentialState {
  readonly credential: Credential
  readonly breaker = new Breaker()
  readonly admission: Admission
  /** An operator keeps clients' requests from it. */
  isPaused = false
  /** Connections are never shared between two credentials, nor between two ways out. */
  readonly pools = new Map<EgressRoute, Pool>()
  readonly #coolingUntil = new Map<string, number>()
  #suspendedUntil = 0
  /** 0 until it is suspended, and again when a request that was let through after that was served. */
  #suspendMs = 0
  /** Somebody was told that it is refused, perhaps under the config before, and not yet that it is good. */
  isAlarmed = false
  /** The one request that finds out whether the key is good again. */
  #probe: object | undefined

  constructor(credential: Credential, limits: ProviderLimits) {
    this.credential = credential
    this.admission = new Admission(limits)
  }

  /** When the time of a suspension is over, it goes on for all but one request until that one was served. */
  isSuspended(now: number): boolean {
    return now < this.#suspendedUntil || this.#probe !== undefined
  }

  /** A request takes it, which it may while it is not suspended; `leave` must follow in the end. */
  enter(request: object): void {
    this.breaker.enter()
    if (this.#suspendMs > 0) this.#probe = request
  }

  /** A request is over, or is tried elsewhere. If it was to find something out, another one may. */
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

  /** The provider says that this key, or who pays for it, is no good. It is tried again after a while. */
  suspend(now: number): void {
    // What other requests that were on their way are told is no news.
    if (now < this.#suspendedUntil) return
    this.isAlarmed = true
    this.#suspendMs = Math.min(suspendMsMax, Math.max(suspendMsMin, this.#suspendMs * 2))
    this.#suspendedUntil = now + this.#suspendMs
  }

  /**
   * The key was good for an answer, though somebody was told that it is refused. One that was on its way before a
   * suspension says nothing of it.
   * @returns whether that ends a suspension
   */
  serve(request: object): boolean {
    if (this.#suspendMs > 0 && this.#probe !== request) return false
    this.isAlarmed = false
    this.#suspendMs = 0
    this.#probe = undefined
    return true
  }

  /** What is known of it now: a suspension lasts until it was good for an answer. */
  get state(): CredentialReading {
    if (this.isPaused) return 'paused'
    if (this.#suspendMs > 0) return 'suspended'
    return this.breaker.isOpen ? 'resting' : 'ready'
  }

  /** Ends all rests: the next request finds out whether it works. */
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
