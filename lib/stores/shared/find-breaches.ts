import type { StoreQueries } from './store-queries.ts'

/** At most so many breaches of one kind are told one by one. */
export const examplesMax = 20

/** Sentences about what must hold, each with a query that names the rows that break it. */
export type Invariants = readonly (readonly [sentence: string, query: string])[]

/** The breaches of invariants, as sentences. */
export async function findBreaches(queries: StoreQueries, invariants: Invariants): Promise<string[]> {
  const breaches: string[] = []
  for (const [sentence, query] of invariants) {
    const rows = await queries.all<{ readonly name: unknown }>(
      `SELECT name FROM (${query}) AS breaches LIMIT ${examplesMax + 1}`,
    )
    breaches.push(...rows.slice(0, examplesMax).map(({ name }) => `${sentence}: ${String(name)}`))
    if (rows.length > examplesMax) breaches.push(`${sentence}: and more of them`)
  }
  return breaches
}
