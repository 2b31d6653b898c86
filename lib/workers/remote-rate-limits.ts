import type { Admission, Limits, RateLimiting, TakenOfLimits } from '../rate-limits/rate-limits.ts'
import type { LimitOperations } from './limit-server.ts'
import type { Operations, Peer } from './peer.ts'

/** What keys have taken of their limits over all workers, as another process counts it. */
export class RemoteRateLimits implements RateLimiting {
  readonly #peer: Peer<LimitOperations, Operations>
  #nextId = 1

  constructor(peer: Peer<LimitOperations, Operations>) {
    this.#peer = peer
  }

  taken(key: string): Promise<TakenOfLimits> {
    return this.#peer.ask('takenOfLimits', key)
  }

  async admit(key: string, limits: Limits, tokens: number): Promise<Admission> {
    const id = this.#nextId++
    await this.#peer.ask('admit', id, key, limits, tokens)
    return { end: tokensUsed => this.#peer.ask('endAdmission', id, tokensUsed) }
  }
}
