import { RateLimiterMemory, type RateLimiterAbstract } from 'rate-limiter-flexible'
import type { Clock } from '../clock.ts'

/** A minute that began with a key's first points. */
export interface Minute {
  /** Points of the key in it, the ones just added included. */
  readonly points: number
  /** Milliseconds since the epoch. */
  readonly endsAt: number
}

/**
 * Counts points by key, in minutes. The limiter is the store: memory counts on this node alone, and one
 * that all nodes share (RateLimiterPostgres over the store's pool, `duration: 60`) counts for them together.
 */
export class MinuteCounter {
  readonly #limiter: RateLimiterAbstract
  readonly #clock: Clock

  constructor(limiter: RateLimiterAbstract, clock: Clock) {
    this.#limiter = limiter
    this.#clock = clock
  }

  /** Adds points, whatever the limit: limits differ by key, and the caller knows them. */
  async add(key: string, points: number): Promise<Minute> {
    const { consumedPoints, msBeforeNext } = await this.#limiter.penalty(key, points)
    return { points: consumedPoints, endsAt: this.#clock.now() + msBeforeNext }
  }

  /** Takes points back out of the minute they were added to. Of a minute that is over nothing is left. */
  async takeBack(key: string, points: number, { endsAt }: Minute): Promise<void> {
    if (points > 0 && this.#clock.now() < endsAt) await this.#limiter.reward(key, points)
  }
}

/** Counts in the memory of this process. */
export function memoryCounter(clock: Clock): MinuteCounter {
  return new MinuteCounter(new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: 60 }), clock)
}
