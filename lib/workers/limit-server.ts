import type { Admission, Limits, RateLimiting, TakenOfLimits } from '../rate-limits/rate-limits.ts'

/** What a worker asks of the process that counts for all. Admissions are named by numbers of the worker's own. */
export type LimitOperations = {
  admit(id: number, key: string, limits: Limits, tokens: number): Promise<void>
  endAdmission(id: number, tokensUsed: number | undefined): Promise<void>
  takenOfLimits(key: string): Promise<TakenOfLimits>
}

/** Counts for one worker what its requests take of their keys' limits. What is open ends with it. */
export class LimitServer {
  readonly #limits: () => Promise<RateLimiting>
  readonly #open = new Map<number, Admission>()
  #isClosed = false

  /** @param limits opened when the first request asks */
  constructor(limits: () => Promise<RateLimiting>) {
    this.#limits = limits
  }

  readonly operations: LimitOperations = {
    admit: async (id, key, limits, tokens) => {
      const counts = await this.#limits()
      const admission = await counts.admit(key, limits, tokens)
      if (this.#isClosed) await admission.end(undefined)
      else this.#open.set(id, admission)
    },
    endAdmission: async (id, tokensUsed) => {
      const admission = this.#open.get(id)
      this.#open.delete(id)
      await admission?.end(tokensUsed)
    },
    takenOfLimits: async key => (await this.#limits()).taken(key),
  }

  /** Frees the slots of a worker that is gone. What its requests used nobody knows, so what they took stays. */
  async close(): Promise<void> {
    this.#isClosed = true
    const open = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(open.map(admission => admission.end(undefined)))
  }
}
