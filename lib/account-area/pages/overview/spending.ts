import type { ModelSpending } from '../../../ledger/reports.ts'

/** A model, or all the others, with what was spent on it by day. */
export interface Series {
  /** Undefined for all models that have no series of their own. */
  readonly model: string | undefined
  readonly totalMicros: number
  /** One for each day, the oldest first. */
  readonly microsByDay: readonly number[]
}

/** What was spent in the last days, today the last of them. */
export interface Spending {
  /** Days since the epoch, in Moscow. */
  readonly days: readonly number[]
  /** The largest first; the others come last. */
  readonly series: readonly Series[]
  readonly microsByDay: readonly number[]
  readonly chargesByDay: readonly number[]
}

/** More colours than this cannot be told apart. */
const seriesMax = 5

/** Puts sums in the order of a chart: the models that cost the most, and the rest together. */
export function spendingByDay(rows: readonly ModelSpending[], today: number, dayCount: number): Spending {
  const first = today - dayCount + 1
  const days = Array.from({ length: dayCount }, (_, index) => first + index)
  const none = (): number[] => days.map(() => 0)
  const microsByDay = none()
  const chargesByDay = none()
  const byModel = new Map<string, number[]>()
  for (const { day, model, charges, spentMicros } of rows) {
    const index = day - first
    // A clock that was set back leaves charges of tomorrow.
    if (index < 0 || index >= dayCount) continue
    add(microsByDay, index, spentMicros)
    add(chargesByDay, index, charges)
    let own = byModel.get(model)
    if (own === undefined) byModel.set(model, (own = none()))
    add(own, index, spentMicros)
  }
  const series = [...byModel]
    .map(([model, micros]) => ({ model, totalMicros: sum(micros), microsByDay: micros }))
    .filter(({ totalMicros }) => totalMicros > 0)
    .toSorted((one, other) => other.totalMicros - one.totalMicros)
  return {
    days,
    series: [...series.slice(0, seriesMax), ...others(series, none())],
    microsByDay,
    chargesByDay,
  }
}

function others(series: readonly Series[], microsByDay: number[]): readonly Series[] {
  const rest = series.slice(seriesMax)
  if (rest.length === 0) return []
  for (const one of rest)
    for (const [index, micros] of one.microsByDay.entries()) add(microsByDay, index, micros)
  return [{ model: undefined, totalMicros: sum(microsByDay), microsByDay }]
}

function add(amounts: number[], index: number, amount: number): void {
  amounts[index] = (amounts[index] ?? 0) + amount
}

/** A sum of amounts. */
export function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0)
}
