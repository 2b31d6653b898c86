import type { ProviderLimits } from '../config/config.ts'

/** Somebody who waits for a connection: told exactly one of the two, later. */
export interface Waiting {
  onAdmitted(): void
  onWaitedTooLong(): void
}

/** Bounds how many requests are with a provider at once, and how many wait to be. */
export class Admission {
  readonly #limits: ProviderLimits
  readonly #queue = new Map<Waiting, NodeJS.Timeout>()
  #count = 0

  constructor(limits: ProviderLimits) {
    this.#limits = limits
  }

  get isFull(): boolean {
    return this.#count >= this.#limits.connectionsMax && this.#queue.size >= this.#limits.waitingMax
  }

  /** Whether a request would have to wait. */
  get isBusy(): boolean {
    return this.#count >= this.#limits.connectionsMax
  }

  /** `now`: go, and call `leave` at the end. `later`: one of the calls comes. `no`: too many wait. */
  enter(waiting: Waiting): 'now' | 'later' | 'no' {
    if (!this.isBusy) {
      this.#count += 1
      return 'now'
    }
    if (this.isFull) return 'no'
    const timer = setTimeout(() => {
      this.#queue.delete(waiting)
      waiting.onWaitedTooLong()
    }, this.#limits.waitMs)
    this.#queue.set(waiting, timer)
    return 'later'
  }

  /** Whoever waits does no longer want to; true when it was waiting. */
  giveUp(waiting: Waiting): boolean {
    clearTimeout(this.#queue.get(waiting))
    return this.#queue.delete(waiting)
  }

  /** A request is over; its place goes to the one that has waited longest. */
  leave(): void {
    for (const [next, timer] of this.#queue) {
      clearTimeout(timer)
      this.#queue.delete(next)
      next.onAdmitted()
      return
    }
    this.#count -= 1
  }
}
