import type { Clock } from '../platform/clock.ts'

interface PaceOptions {
  readonly perSecond: number
  /** So many may come at once. */
  readonly burst: number
  /** Nobody waits for longer. */
  readonly waitMsMax: number
  readonly clock: Clock
}

/** Owners that are remembered; those that came longest ago are forgotten first. */
const ownersMax = 10_000

/** Spreads out what comes in floods, by owner, so that a flood takes a part of the event loop and not all of it. */
export class Pace {
  readonly #options: PaceOptions
  /** When the owner's next one would have its time, if there were no burst. */
  readonly #nextAt = new Map<string, number>()

  constructor(options: PaceOptions) {
    this.#options = options
  }

  /** How long the owner's next one waits, in milliseconds; undefined when so many wait that it shall not. */
  next(owner: string): number | undefined {
    const { perSecond, burst, waitMsMax, clock } = this.#options
    const now = clock.now()
    const stepMs = 1000 / perSecond
    const at = Math.max(this.#nextAt.get(owner) ?? 0, now)
    const waitMs = Math.max(0, at - now - (burst - 1) * stepMs)
    if (waitMs > waitMsMax) return undefined
    this.#nextAt.delete(owner)
    this.#nextAt.set(owner, at + stepMs)
    const [oldest] = this.#nextAt.size > ownersMax ? this.#nextAt.keys() : []
    if (oldest !== undefined) this.#nextAt.delete(oldest)
    return waitMs
  }
}
