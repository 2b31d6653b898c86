import { setTimeout as delay } from 'node:timers/promises'
import { steadyClock } from '../platform/clock.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { Pace } from './overload.ts'

/** An account's requests that cost nothing. */
interface Use {
  /** Requests that it may still make at once. */
  left: number
  countedAt: number
  /** The last of its own endpoints that is worked on, or waits to be. */
  last: Promise<unknown>
}

/** What may be made at once, of what a minute allows. */
const burstPart = 1 / 6
/** Accounts that are remembered; those that asked longest ago are forgotten first. */
const accountsMax = 10_000

/**
 * Bounds what is done for nothing: lists, retrievals, counts of tokens, uploads, the gateway's own endpoints. They are
 * allowed without money, so nothing else ends them. Counted by account, in this process.
 */
export class FreeRequests {
  readonly #perMinute: number
  readonly #uses = new Map<string, Use>()
  // A refusal takes as long as many a response: whoever goes on is refused more slowly.
  readonly #refusals = new Pace({ perSecond: 100, burst: 50, waitMsMax: 10_000, clock: steadyClock })

  constructor(perMinute: number) {
    this.#perMinute = perMinute
  }

  /**
   * Undefined when it may be made.
   * @throws GatewayError rate_limited, by the promise
   */
  admit(accountId: string | undefined): Promise<never> | undefined {
    if (accountId === undefined) return undefined
    const use = this.#useOf(accountId)
    const now = steadyClock.now()
    const more = ((now - use.countedAt) / 60_000) * this.#perMinute
    use.left = Math.min(this.#burst, use.left + more)
    use.countedAt = now
    if (use.left < 1) return this.#refuse(accountId, use.left)
    use.left -= 1
    return undefined
  }

  async #refuse(accountId: string, left: number): Promise<never> {
    const waitMs = this.#refusals.next(accountId) ?? 0
    if (waitMs > 0) await delay(waitMs, undefined, { ref: false })
    throw new GatewayError(
      'rate_limited',
      `An account may make ${this.#perMinute} requests a minute that cost nothing. Ask less often.`,
      { retryAfterSeconds: Math.ceil(((1 - left) * 60) / this.#perMinute) },
    )
  }

  /** Does one piece of work after another for each account. */
  inTurn<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const use = this.#useOf(accountId)
    const done = use.last.then(work)
    // Whoever asked is told of a failure; whoever is next does not mind.
    use.last = done.catch(() => undefined)
    return done
  }

  get #burst(): number {
    return Math.max(1, this.#perMinute * burstPart)
  }

  #useOf(accountId: string): Use {
    let use = this.#uses.get(accountId)
    if (use === undefined) use = { left: this.#burst, countedAt: steadyClock.now(), last: Promise.resolve() }
    else this.#uses.delete(accountId)
    this.#uses.set(accountId, use)
    const [oldest] = this.#uses.size > accountsMax ? this.#uses.keys() : []
    if (oldest !== undefined) this.#uses.delete(oldest)
    return use
  }
}
