import { KeyBudgetExceededError, type HeldSums, type HoldRequest, type Micros } from './ledger.ts'

const msPerDay = 86_400_000
/** Moscow is three hours ahead of UTC all year: it has had no daylight saving time since 2014. */
const moscowMs = 3 * 3_600_000

/** How much a key may spend, and in which period. */
export type BudgetLimit = NonNullable<HoldRequest['budget']>

/** What a key may still spend in the current period of its budget. */
export interface KeyBudget {
  readonly budgetMicros: Micros
  /** What its exchanges have cost, including what the account could not pay and owes. */
  readonly spentMicros: Micros
  readonly heldMicros: Micros
  /** The worst costs of its open holds. */
  readonly worstMicros: Micros
  readonly availableMicros: Micros
  /** When the budget resets; undefined for a budget without a period. */
  readonly resetsAt?: number
}

interface Spending {
  heldMicros: Micros
  worstMicros: Micros
  readonly days: Map<number, Micros>
}

/** What was counted for a key, and in which map: a key may lose its budget and get another. */
export interface Spent {
  readonly days: Map<number, Micros>
  readonly day: number
  readonly amountMicros: Micros
}

const nothing: Spending = { heldMicros: 0, worstMicros: 0, days: new Map() }

/** The day of a time in Moscow, as days since the epoch. */
export function budgetDay(at: number): number {
  return Math.floor((at + moscowMs) / msPerDay)
}

/** When a day begins in Moscow, in milliseconds since the epoch. */
export function dayStart(day: number): number {
  return day * msPerDay - moscowMs
}

/** The first day of the period that contains a time, and of the next one. Weeks begin on Monday. */
export function budgetDays(period: BudgetLimit['period'], at: number): { from: number; until: number } {
  const day = budgetDay(at)
  switch (period) {
    case 'day':
      return { from: day, until: day + 1 }
    case 'week': {
      // 1 January 1970 was a Thursday.
      const monday = day - ((day + 3) % 7)
      return { from: monday, until: monday + 7 }
    }
    case 'month': {
      const date = new Date(day * msPerDay)
      const from = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
      const until = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
      return { from: from / msPerDay, until: until / msPerDay }
    }
    case 'total':
      return { from: -Infinity, until: Infinity }
  }
}

/** What is left of a budget, from what was spent in its period and what is held. */
export function keyBudget(
  limit: BudgetLimit,
  spentMicros: Micros,
  { likelyMicros: heldMicros, worstMicros }: HeldSums,
  at: number,
): KeyBudget {
  const { budgetMicros, period } = limit
  const { until } = budgetDays(period, at)
  return {
    budgetMicros,
    spentMicros,
    heldMicros,
    worstMicros,
    availableMicros: Math.max(0, budgetMicros - spentMicros - heldMicros),
    ...(until === Infinity ? {} : { resetsAt: dayStart(until) }),
  }
}

/** Spending and holds of keys with a budget, in memory. Keys without one cost nothing here. */
export class KeySpending {
  readonly #keys = new Map<string, Spending>()

  /** Starts to count for a key that has a budget. */
  watch(keyId: string): void {
    if (!this.#keys.has(keyId)) this.#keys.set(keyId, { heldMicros: 0, worstMicros: 0, days: new Map() })
  }

  /** Starts to count for a key that gets a budget now; what it spent before is loaded afterwards. */
  watchFromNow(keyId: string, { likelyMicros, worstMicros }: HeldSums): void {
    this.#keys.set(keyId, { heldMicros: likelyMicros, worstMicros, days: new Map() })
  }

  /** Stops counting for a key that has no budget. */
  forget(keyId: string): void {
    this.#keys.delete(keyId)
  }

  /** Adds what was spent before the key was watched. */
  load(keyId: string, day: number, spentMicros: Micros): void {
    const days = this.#keys.get(keyId)?.days
    days?.set(day, (days.get(day) ?? 0) + spentMicros)
  }

  hold(keyId: string, { likelyMicros, worstMicros }: HeldSums): void {
    const key = this.#keys.get(keyId)
    if (key === undefined) return
    key.heldMicros += likelyMicros
    key.worstMicros += worstMicros
  }

  unhold(keyId: string, { likelyMicros, worstMicros }: HeldSums): void {
    const key = this.#keys.get(keyId)
    if (key === undefined) return
    key.heldMicros -= likelyMicros
    key.worstMicros -= worstMicros
  }

  /** Counts what was spent, if the key is watched. */
  spend(keyId: string, amountMicros: Micros, at: number): Spent | undefined {
    const days = this.#keys.get(keyId)?.days
    if (days === undefined) return undefined
    const day = budgetDay(at)
    days.set(day, (days.get(day) ?? 0) + amountMicros)
    return { days, day, amountMicros }
  }

  /** Reverses a failed charge. What was not counted, because the key had no budget yet, is not subtracted either. */
  unspend(spent: Spent | undefined): void {
    if (spent === undefined) return
    const { days, day, amountMicros } = spent
    days.set(day, (days.get(day) ?? 0) - amountMicros)
  }

  /**
   * Checks that a hold fits a key's budget, its worst cost with the account's risk.
   * @throws KeyBudgetExceededError when it does not
   */
  check(keyId: string, limit: BudgetLimit, held: HeldSums, riskMicros: Micros, at: number): void {
    const budget = this.budget(keyId, limit, at)
    const { likelyMicros, worstMicros } = held
    const isCovered = likelyMicros <= likelyRoom(budget) && worstMicros <= worstRoom(budget, riskMicros)
    if (worstMicros > 0 && !isCovered)
      throw new KeyBudgetExceededError(likelyMicros, worstMicros, budget, riskMicros)
  }

  /**
   * Returns how much more of the likely cost fits the budget, when the worst fits.
   * @throws KeyBudgetExceededError when the worst does not fit
   */
  checkGrowth(keyId: string, limit: BudgetLimit, more: HeldSums, riskMicros: Micros, at: number): Micros {
    const budget = this.budget(keyId, limit, at)
    const { likelyMicros, worstMicros } = more
    if (worstMicros > 0 && worstMicros > worstRoom(budget, riskMicros))
      throw new KeyBudgetExceededError(likelyMicros, worstMicros, budget, riskMicros)
    return budget.availableMicros
  }

  /** The state of a key's budget. */
  budget(keyId: string, limit: BudgetLimit, at: number): KeyBudget {
    const { heldMicros, worstMicros, days } = this.#keys.get(keyId) ?? nothing
    const { from, until } = budgetDays(limit.period, at)
    let spentMicros = 0
    for (const [day, amount] of days) if (day >= from && day < until) spentMicros += amount
    return keyBudget(limit, spentMicros, { likelyMicros: heldMicros, worstMicros }, at)
  }
}

function likelyRoom({ budgetMicros, spentMicros, heldMicros }: KeyBudget): Micros {
  return budgetMicros - spentMicros - heldMicros
}

function worstRoom({ budgetMicros, spentMicros, worstMicros }: KeyBudget, riskMicros: Micros): Micros {
  return budgetMicros - spentMicros - worstMicros + riskMicros
}
