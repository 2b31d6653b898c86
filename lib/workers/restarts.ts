import { steadyClock } from '../platform/clock.ts'

const firstMs = 100
const lastMs = 10_000
/** A worker that ran so long failed by an accident, and not at its start. */
const soundMs = 60_000

interface Record {
  waitMs: number
  startsAt: number
}

/** When workers that ended are started again: soon, and the later the more often it happens. */
export class Restarts {
  readonly #records = new Map<number, Record>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #isStopped = false

  /** Answers in how many milliseconds it is started. */
  plan(number: number, start: () => void): number {
    const now = steadyClock.now()
    const last = this.#records.get(number)
    const isSound = last === undefined || now - last.startsAt > soundMs
    const waitMs = isSound ? firstMs : Math.min(lastMs, last.waitMs * 2)
    this.#records.set(number, { waitMs, startsAt: now + waitMs })
    if (this.#isStopped) return waitMs
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      start()
    }, waitMs)
    this.#timers.add(timer)
    return waitMs
  }

  stop(): void {
    this.#isStopped = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }
}
