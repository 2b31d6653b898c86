import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import type { Clock } from '../platform/clock.ts'

/** A minute that began with a key's first points. */
export interface Minute {
  /** Points of the key in it, the ones just added included. */
  readonly points: number
  /** Milliseconds since the epoch. */
  readonly endsAt: number
}

/** Counts points by key, in minutes. The limiter is where: this node's memory, or the nodes' database. */
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

  /** The minute that is running; undefined when none is. */
  async find(key: string): Promise<Minute | undefined> {
    const found = await this.#limiter.get(key)
    if (found === null) return undefined
    return { points: found.consumedPoints, endsAt: this.#clock.now() + found.msBeforeNext }
  }

  /** Takes points back out of the minute they were added to. Of a minute that is over nothing is left. */
  async takeBack(key: string, points: number, { endsAt }: Minute): Promise<void> {
    if (points > 0 && this.#clock.now() < endsAt) await this.#limiter.reward(key, points)
  }
}
