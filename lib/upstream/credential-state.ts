import type { Pool } from 'undici'
import type { Credential, ProviderLimits } from '../config/config.ts'
import { Admission } from './admission.ts'
import { Breaker } from './breaker.ts'
import type { EgressRoute } from './egress-route.ts'

const suspendMsMin = 300_000
const suspendMsMax = 3_600_000
/** More models than this are not cooled down at once: names come from requests. */
const coolingModelsMax = 1000

/** What is known of one key of a provider while the process lives. */
export class CredentialState {
  readonly credential: Credential
  readonly breaker = new Breaker()
  readonly admission: Admission
  /** Connections are never shared between two credentials, nor between two ways out. */
  readonly pools = new Map<EgressRoute, Pool>()
  readonly #coolingUntil = new Map<string, number>()
  #suspendedUntil = 0
  #suspendMs = 0

  constructor(credential: Credential, limits: ProviderLimits) {
    this.credential = credential
    this.admission = new Admission(limits)
  }

  isSuspended(now: number): boolean {
    return now < this.#suspendedUntil
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
    if (this.isSuspended(now)) return
    this.#suspendMs = Math.min(suspendMsMax, Math.max(suspendMsMin, this.#suspendMs * 2))
    this.#suspendedUntil = now + this.#suspendMs
  }

  /** The key was good for an answer. */
  serve(): void {
    this.#suspendMs = 0
  }

  cool(model: string, until: number): void {
    if (this.#coolingUntil.size >= coolingModelsMax) this.#coolingUntil.clear()
    this.#coolingUntil.set(model, until)
  }
}
