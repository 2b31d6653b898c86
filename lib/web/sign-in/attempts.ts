import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../platform/clock.ts'

/** How often something may fail before it is slowed down and then locked. */
export interface AttemptLimits {
  /** From this many failures on, each answer takes twice as long as the last. */
  readonly slowFrom: number
  /** From this many on, every attempt fails until the time is over. */
  readonly lockFrom: number
  /** How long failures are remembered, counted from the last. */
  readonly forgetMs: number
}

interface Count {
  failures: number
  lastAt: number
}

interface AttemptsOptions {
  readonly clock: Clock
  readonly limits: AttemptLimits
  /** Waits; tests bring their own. */
  readonly wait?: (ms: number) => Promise<unknown>
}

const slowMsFirst = 250
const slowMsMax = 4000
/** More names than this are not remembered: the oldest are forgotten first. */
const countsMax = 50_000

/**
 * Counts failures by name (an e-mail, an address) in memory. An attempt counts as failed when it begins and is
 * taken back when it succeeds, so that many at once pass no limit.
 */
export class Attempts {
  readonly #options: AttemptsOptions
  readonly #counts = new Map<string, Count>()

  constructor(options: AttemptsOptions) {
    this.#options = options
  }

  /**
   * Begins an attempt, after a while when there were failures before it. Answers false when it is locked out:
   * it must fail, whatever it brings.
   */
  async begin(name: string): Promise<boolean> {
    const { clock, limits, wait = delay } = this.#options
    const now = clock.now()
    const known = this.#counts.get(name)
    const count =
      known !== undefined && now - known.lastAt < limits.forgetMs ? known : { failures: 0, lastAt: now }
    // Once locked, further attempts do not make it longer: the owner of the name must get in some day.
    const isLocked = count.failures >= limits.lockFrom
    if (!isLocked) {
      count.failures += 1
      count.lastAt = now
    }
    this.#counts.delete(name)
    this.#counts.set(name, count)
    this.#forgetOldest()
    const steps = count.failures - 1 - limits.slowFrom
    if (steps >= 0) await wait(Math.min(slowMsFirst * 2 ** steps, slowMsMax))
    return !isLocked
  }

  /** The attempt has succeeded: what failed before it is forgotten. */
  succeed(name: string): void {
    this.#counts.delete(name)
  }

  /** Everything that failed under a name and under those that begin with it and a blank is forgotten. */
  forget(name: string): void {
    for (const known of this.#counts.keys())
      if (known === name || known.startsWith(`${name} `)) this.#counts.delete(known)
  }

  /** The attempt has succeeded, which says nothing of the failures before it. */
  takeBack(name: string): void {
    const count = this.#counts.get(name)
    if (count !== undefined) count.failures -= 1
  }

  #forgetOldest(): void {
    if (this.#counts.size <= countsMax) return
    const [oldest] = this.#counts.keys()
    if (oldest !== undefined) this.#counts.delete(oldest)
  }
}
