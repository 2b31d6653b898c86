import type { ProviderLimits } from '../config/config.ts'

/** Somebody who waits for a connection: told exactly one of the two, later. */
export interface Waiting {
  onAdmitted(): void
  onWaitedTooLong(): void
}

interface Place {
  readonly accountId: string | undefined
  readonly timer: NodeJS.Timeout
}

/**
 * Bounds how many requests are with a provider at once, and how many wait to be. Accounts that wait go by
 * turns, so that one with a thousand requests keeps nobody else waiting behind them all.
 */
export class Admission {
  readonly #limits: ProviderLimits
  readonly #places = new Map<Waiting, Place>()
  /** Who waits for each account, those first whose turn is next. */
  readonly #lines = new Map<string | undefined, Set<Waiting>>()
  #count = 0

  constructor(limits: ProviderLimits) {
    this.#limits = limits
  }

  get isFull(): boolean {
    return this.isBusy && this.#places.size >= this.#limits.waitingMax
  }

  /** Whether a request would have to wait. */
  get isBusy(): boolean {
    return this.#count >= this.#limits.connectionsMax
  }

  get requests(): number {
    return this.#count
  }

  get waiting(): number {
    return this.#places.size
  }

  /** `now`: go, and call `leave` at the end. `later`: one of the calls comes. `no`: too many wait. */
  enter(waiting: Waiting, accountId?: string): 'now' | 'later' | 'no' {
    if (!this.isBusy) {
      this.#count += 1
      return 'now'
    }
    if (this.isFull) return 'no'
    const timer = setTimeout(() => {
      this.giveUp(waiting)
      waiting.onWaitedTooLong()
    }, this.#limits.waitMs)
    this.#places.set(waiting, { accountId, timer })
    const line = this.#lines.get(accountId)
    if (line === undefined) this.#lines.set(accountId, new Set([waiting]))
    else line.add(waiting)
    return 'later'
  }

  /** Whoever waits does no longer want to; true when it was waiting. */
  giveUp(waiting: Waiting): boolean {
    const place = this.#places.get(waiting)
    if (place === undefined) return false
    clearTimeout(place.timer)
    this.#places.delete(waiting)
    const line = this.#lines.get(place.accountId)
    line?.delete(waiting)
    if (line?.size === 0) this.#lines.delete(place.accountId)
    return true
  }

  /** A request is over; its place goes to whom has waited longest of the account whose turn it is. */
  leave(): void {
    for (const [accountId, line] of this.#lines) {
      for (const next of line) {
        this.giveUp(next)
        // The others come first now.
        if (this.#lines.delete(accountId)) this.#lines.set(accountId, line)
        next.onAdmitted()
        return
      }
    }
    this.#count -= 1
  }
}
