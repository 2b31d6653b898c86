import { RateLimiterMemory, type RateLimiterAbstract } from 'rate-limiter-flexible'
import type { Clock } from '../platform/clock.ts'
import { GatewayError } from '../pipeline/errors.ts'

/** A minute that began with a key's first points. */
interface Minute {
  /** The key's points in it, including those just added. */
  readonly points: number
  /** Milliseconds since the epoch. */
  readonly endsAt: number
}

/** Counts points by key, in minutes. The limiter may be in this node's memory or in the nodes' database. */
export class MinuteCounter {
  readonly #limiter: RateLimiterAbstract
  readonly #clock: Clock

  constructor(limiter: RateLimiterAbstract, clock: Clock) {
    this.#limiter = limiter
    this.#clock = clock
  }

  /** Adds points, regardless of the limit: limits differ by key, and the caller knows them. */
  async add(key: string, points: number): Promise<Minute> {
    const { consumedPoints, msBeforeNext } = await this.#limiter.penalty(key, points)
    return { points: consumedPoints, endsAt: this.#clock.now() + msBeforeNext }
  }

  /** The current minute; undefined when there is none. */
  async find(key: string): Promise<Minute | undefined> {
    const found = await this.#limiter.get(key)
    if (found === null) return undefined
    return { points: found.consumedPoints, endsAt: this.#clock.now() + found.msBeforeNext }
  }

  /** Subtracts points from the minute to which they were added. A minute that is over is left alone. */
  async takeBack(key: string, points: number, { endsAt }: Minute): Promise<void> {
    if (points > 0 && this.#clock.now() < endsAt) await this.#limiter.reward(key, points)
  }
}

/** The counts by the minute. */
export interface Counters {
  readonly requests: MinuteCounter
  readonly tokens: MinuteCounter
  /** Called once, when nothing is counted any more. */
  close?(): Promise<void>
}

/** Counts in the memory of this process. */
export function memoryCounters(clock: Clock): Counters {
  const counter = (): MinuteCounter =>
    new MinuteCounter(new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: 60 }), clock)
  return { requests: counter(), tokens: counter() }
}

/** The limits of a key; absent means no limit. */
export interface Limits {
  readonly requestsPerMinute?: number | undefined
  readonly tokensPerMinute?: number | undefined
  readonly concurrentRequests?: number | undefined
}

/** A request that was admitted. */
export interface Admission {
  /**
   * Frees its slot and replaces the reserved tokens with those it really used; undefined keeps the reserved ones.
   * Called once.
   */
  end(tokensUsed: number | undefined): Promise<void>
}

/** How much of its limits a key has used; the ends are milliseconds since the epoch, absent when nothing was used. */
export interface LimitUsage {
  readonly requests: number
  readonly requestsUntil: number | undefined
  readonly tokens: number
  readonly tokensUntil: number | undefined
  /** On this node. */
  readonly concurrentRequests: number
}

/** Counts how much of their limits keys use, in this process or in another. */
export interface RateLimiting {
  /** How much a key has used by now. */
  taken(key: string): Promise<LimitUsage>
  /**
   * @param tokens the most that the request may use; more than the limit counts as all of it, so that no request is too
   * large for ever
   * @throws GatewayError rate_limited; what the request used of other limits is returned. overloaded when the nodes'
   * database cannot count
   */
  admit(key: string, limits: Limits, tokens: number): Promise<Admission>
}

/** Admits requests as long as their key is within its limits. Slots are counted on this node. */
export class RateLimits implements RateLimiting {
  readonly #clock: Clock
  readonly #counters: Counters
  readonly #openRequests = new Map<string, number>()
  readonly #ending = new Set<Promise<void>>()

  constructor(clock: Clock, counters: Counters) {
    this.#clock = clock
    this.#counters = counters
  }

  /** Admitted requests of this key that are not over. */
  openRequests(key: string): number {
    return this.#openRequests.get(key) ?? 0
  }

  async taken(key: string): Promise<LimitUsage> {
    const [requests, tokens] = await Promise.all([
      this.#counters.requests.find(key),
      this.#counters.tokens.find(key),
    ])
    return {
      requests: requests?.points ?? 0,
      requestsUntil: requests?.endsAt,
      tokens: tokens?.points ?? 0,
      tokensUntil: tokens?.endsAt,
      concurrentRequests: this.openRequests(key),
    }
  }

  /** Resolves when the requests that have ended have returned what they did not use. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#ending)
  }

  async admit(key: string, limits: Limits, tokens: number): Promise<Admission> {
    this.#takeSlot(key, limits.concurrentRequests)
    try {
      return await this.#count(key, limits, tokens)
    } catch (error) {
      this.#freeSlot(key)
      if (error instanceof GatewayError) throw error
      throw new GatewayError('overloaded', "The key's requests cannot be counted now. Try again soon.", {
        cause: error,
        retryAfterSeconds: 1,
      })
    }
  }

  async #count(key: string, limits: Limits, tokens: number): Promise<Admission> {
    const { requests, tokens: tokenCounter } = this.#counters
    const tokensPerMinute = limits.tokensPerMinute ?? 0
    const reserved = Math.min(tokens, tokensPerMinute)
    let request: Minute | undefined
    let minute: Minute | undefined
    try {
      if (limits.requestsPerMinute !== undefined) {
        request = await requests.add(key, 1)
        if (request.points > limits.requestsPerMinute)
          throw this.#refusal(limits.requestsPerMinute, 'requests', 'and it has made them', request)
      }
      if (reserved > 0) {
        minute = await tokenCounter.add(key, reserved)
        if (minute.points > tokensPerMinute) {
          const left = Math.max(0, tokensPerMinute - (minute.points - reserved))
          throw this.#refusal(
            tokensPerMinute,
            'tokens',
            `of which ${left} are left; this request may take ${reserved}`,
            minute,
          )
        }
      }
    } catch (error) {
      if (request !== undefined) await requests.takeBack(key, 1, request)
      if (minute !== undefined) await tokenCounter.takeBack(key, reserved, minute)
      throw error
    }
    const settle = async (tokensUsed: number): Promise<void> => {
      if (tokensUsed > reserved) await tokenCounter.add(key, tokensUsed - reserved)
      else if (minute !== undefined) await tokenCounter.takeBack(key, reserved - tokensUsed, minute)
    }
    return {
      end: async tokensUsed => {
        this.#freeSlot(key)
        if (tokensUsed === undefined || limits.tokensPerMinute === undefined) return
        const ending = settle(tokensUsed)
        this.#ending.add(ending)
        await ending.finally(() => this.#ending.delete(ending))
      },
    }
  }

  #takeSlot(key: string, most: number | undefined): void {
    const open = this.openRequests(key)
    if (most !== undefined && open >= most) {
      throw new GatewayError(
        'rate_limited',
        `The key's limit is ${most} requests at once, and so many are open. It frees when one of them ends.`,
        { retryAfterSeconds: 1, details: { limit: most, unit: 'concurrent_requests' } },
      )
    }
    this.#openRequests.set(key, open + 1)
  }

  #freeSlot(key: string): void {
    const open = this.openRequests(key) - 1
    if (open > 0) this.#openRequests.set(key, open)
    else this.#openRequests.delete(key)
  }

  #refusal(limit: number, unit: 'requests' | 'tokens', state: string, { endsAt }: Minute): GatewayError {
    const seconds = Math.max(1, Math.ceil((endsAt - this.#clock.now()) / 1000))
    const time = new Date(endsAt).toISOString()
    return new GatewayError(
      'rate_limited',
      `The key's limit is ${limit} ${unit} a minute, ${state}. It frees in ${seconds} s, at ${time}.`,
      { retryAfterSeconds: seconds, details: { limit, unit: `${unit}_per_minute` } },
    )
  }
}
