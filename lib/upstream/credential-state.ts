import type { Pool } from 'undici'
import type { Credential, ProviderLimits } from '../config/config.ts'
import { Admission } from './admission.ts'
import { Breaker } from './breaker.ts'
import type { EgressRoute } from './egress-route.ts'
import type { CredentialHealth } from './provider-health.ts'

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
   * The key was good for an answer. One that was on its way before a suspension says nothing of it.
   * @returns whether that ends a suspension
   */
  serve(request: object): boolean {
    if (!this.isAlarmed || (this.#suspendMs > 0 && this.#probe !== request)) return false
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
