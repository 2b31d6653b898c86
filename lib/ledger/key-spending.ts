import type { KeyRecord } from '../accounts/accounts.ts'
import type { Micros } from './ledger.ts'

const msPerDay = 86_400_000

/** What a key may still spend in the current period of its budget. */
export interface KeyBudget {
  readonly budgetMicros: Micros
  readonly spentMicros: Micros
  readonly heldMicros: Micros
  readonly availableMicros: Micros
  /** When the budget starts anew; undefined for a budget without a period. */
  readonly resetsAt?: number
}

interface Spending {
  heldMicros: Micros
  readonly days: Map<number, Micros>
}

/** The first day of the period that a moment lies in, and of the next. Days are UTC, weeks begin on Monday. */
function periodOf(period: KeyRecord['budgetPeriod'], at: number): { from: number; until: number } {
  const day = Math.floor(at / msPerDay)
  const date = new Date(at)
  switch (period) {
    case 'day':
      return { from: day, until: day + 1 }
    case 'week': {
      // 1 January 1970 was a Thursday.
      const monday = day - ((day + 3) % 7)
      return { from: monday, until: monday + 7 }
    }
    case 'month': {
      const from = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
      const until = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
      return { from: from / msPerDay, until: until / msPerDay }
    }
    case 'total':
    case undefined:
      return { from: -Infinity, until: Infinity }
  }
}

/** What keys with a budget have spent and hold, in memory. Keys without one cost nothing here. */
export class KeySpending {
  readonly #keys = new Map<string, Spending>()

  /** Begins to count a key that has a budget. */
  watch(keyId: string): void {
    if (!this.#keys.has(keyId)) this.#keys.set(keyId, { heldMicros: 0, days: new Map() })
  }

  load(keyId: string, day: number, spentMicros: Micros): void {
    this.#keys.get(keyId)?.days.set(day, spentMicros)
  }

  hold(keyId: string, amountMicros: Micros): void {
    const key = this.#keys.get(keyId)
    if (key !== undefined) key.heldMicros += amountMicros
  }

  unhold(keyId: string, amountMicros: Micros): void {
    const key = this.#keys.get(keyId)
    if (key !== undefined) key.heldMicros -= amountMicros
  }

  spend(keyId: string, amountMicros: Micros, at: number): void {
    const key = this.#keys.get(keyId)
    if (key === undefined) return
    const day = Math.floor(at / msPerDay)
    key.days.set(day, (key.days.get(day) ?? 0) + amountMicros)
  }

  /** The state of a key's budget; undefined for a key without one. */
  budget(key: KeyRecord, at: number): KeyBudget | undefined {
    const { budgetMicros } = key
    const spending = this.#keys.get(key.id)
    if (budgetMicros === undefined || spending === undefined) return undefined
    const { from, until } = periodOf(key.budgetPeriod, at)
    let spentMicros = 0
    for (const [day, amount] of spending.days) if (day >= from && day < until) spentMicros += amount
    const { heldMicros } = spending
    const availableMicros = Math.max(0, budgetMicros - spentMicros - heldMicros)
    return {
      budgetMicros,
      spentMicros,
      heldMicros,
      availableMicros,
      ...(until === Infinity ? {} : { resetsAt: until * msPerDay }),
    }
  }
}
