import { setTimeout as delay } from 'node:timers/promises'
import { steadyClock } from '../platform/clock.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { Pace } from './overload.ts'

/** An account's use of free requests. */
interface Use {
  /** How many more requests it may make at once. */
  left: number
  countedAt: number
  /** The last request to an own endpoint that is running or queued. */
  last: Promise<unknown>
}

/** The part of a minute's allowance that may be used at once. */
const burstPart = 1 / 6
/** How many accounts are tracked; the least recently active are dropped first. */
const accountsMax = 10_000

/**
 * Limits requests that cost nothing: lists, retrievals, counts of tokens, uploads, the gateway's own endpoints. They
 * are allowed without money, so nothing else limits them. Counted by account, in this process.
 */
export class FreeRequests {
  readonly #perMinute: number
  readonly #uses = new Map<string, Use>()
  // A refusal takes as long as many a response: refusals of a caller that does not stop are slowed down.
  readonly #refusals = new Pace({ perSecond: 100, burst: 50, waitMsMax: 10_000, clock: steadyClock })

  constructor(perMinute: number) {
    this.#perMinute = perMinute
  }

  /**
   * Undefined when the request may be made.
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

  /** Runs pieces of work one after another for each account. */
  inTurn<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const use = this.#useOf(accountId)
    const done = use.last.then(work)
    // The caller gets the error; the next piece does not depend on it.
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
