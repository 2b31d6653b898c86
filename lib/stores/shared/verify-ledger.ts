import { invariants } from './ledger-invariants.ts'
import { recomputeCharges } from './recompute-charges.ts'
import type { StoreQueries } from './store-queries.ts'
import { storedPrices } from './stored-prices.ts'

/** At most so many breaches of one kind are told one by one. */
const examplesMax = 20

async function breachesOf(queries: StoreQueries, sentence: string, query: string): Promise<string[]> {
  const rows = await queries.all<{ readonly name: unknown }>(
    `SELECT name FROM (${query}) AS breaches LIMIT ${examplesMax + 1}`,
  )
  const breaches = rows.slice(0, examplesMax).map(({ name }) => `${sentence}: ${String(name)}`)
  return rows.length > examplesMax ? [...breaches, `${sentence}: and more of them`] : breaches
}

/** Works every charge out again from its meters and the price that it names. */
async function recomputed(queries: StoreQueries): Promise<string[]> {
  const { damaged } = await storedPrices(queries)
  const breaches = damaged.map(hash => `a price is not what its version says: ${hash}`)
  for await (const { requestId, sequence, differences } of recomputeCharges(queries, 0)) {
    for (const difference of differences) breaches.push(`${difference}: ${requestId}/${sequence}`)
    if (breaches.length >= examplesMax) return [...breaches, 'and more charges that are not what they cost']
  }
  return breaches
}

/**
 * Checks every invariant of the ledger. What is read should be one state of the store.
 * @returns the breaches as sentences; empty when all is well
 */
export async function verifyLedger(queries: StoreQueries): Promise<readonly string[]> {
  const breaches: string[] = []
  for (const [sentence, query] of invariants) breaches.push(...(await breachesOf(queries, sentence, query)))
  return [...breaches, ...(await recomputed(queries))]
}
