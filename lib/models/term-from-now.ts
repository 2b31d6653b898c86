import type { RequestFacts } from '../dialects/dialect.ts'

const hourMs = 3_600_000

/** The facts of a request by which something is kept until a moment, for the hours until then. */
export function termFromNow(facts: RequestFacts, now: number): RequestFacts {
  const { keptUntil, keptHours, units } = facts
  if (keptUntil === undefined) return facts
  const hours = Math.max(0, keptUntil - now) / hourMs
  return {
    ...facts,
    ...(keptHours !== undefined && { keptHours: keptHours * hours }),
    units: { ...units, cacheStorage: (units?.cacheStorage ?? 0) * hours },
  }
}
