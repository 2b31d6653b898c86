import type { ChargeLine } from '../ledger/price-charge.ts'
import { priceHash } from '../money/build-price.ts'
import type { Price } from '../money/price.ts'
import { priceLine } from '../money/price-line.ts'
import { invariants } from './ledger-invariants.ts'
import { storedPrice } from './stored-price.ts'
import type { PriceRow } from './stored-price.ts'
import type { StoreQueries } from './store-queries.ts'

/** At most so many breaches of one kind are told one by one. */
const examplesMax = 20
const pageRows = 2000

async function breachesOf(queries: StoreQueries, sentence: string, query: string): Promise<string[]> {
  const rows = await queries.all<{ readonly name: unknown }>(
    `SELECT name FROM (${query}) AS breaches LIMIT ${examplesMax + 1}`,
  )
  const breaches = rows.slice(0, examplesMax).map(({ name }) => `${sentence}: ${String(name)}`)
  return rows.length > examplesMax ? [...breaches, `${sentence}: and more of them`] : breaches
}

interface RecomputedRow {
  readonly id: number
  readonly name: string
  readonly lines: string
  readonly raw: string | null
  readonly cost: number
}

/** Undefined when the text is no JSON, which nothing here ever writes. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function recompute(row: RecomputedRow, prices: ReadonlyMap<string, Price>): string[] {
  const { name, cost } = row
  const lines = parsed(row.lines) as readonly ChargeLine[] | undefined
  if (lines === undefined) return [`the lines of a charge cannot be read: ${name}`]
  const breaches: string[] = []
  if (row.raw !== null && parsed(row.raw) === undefined) {
    breaches.push(`the provider's usage of a charge cannot be read: ${name}`)
  }
  let sumMicros = 0
  for (const line of lines) {
    sumMicros += line.amountMicros
    const price = prices.get(line.priceVersion)
    if (price === undefined) breaches.push(`a charge names a price that is not known: ${name}`)
    else if (priceLine(price, line).amountMicros !== line.amountMicros) {
      breaches.push(`a charge is not what its usage costs by its price: ${name}`)
    }
  }
  if (sumMicros !== cost) breaches.push(`the lines of a charge do not add up to it: ${name}`)
  return breaches
}

/** Works every charge out again from its meters and the price that it names. */
async function recomputed(queries: StoreQueries): Promise<string[]> {
  const prices = new Map<string, Price>()
  const breaches: string[] = []
  const priceRows = await queries.all<PriceRow>('SELECT hash, body FROM prices')
  for (const row of priceRows) {
    if (priceHash(row.body) === row.hash) prices.set(row.hash, storedPrice(row))
    else breaches.push(`a price is not what its version says: ${row.hash}`)
  }
  for (let afterId = 0; ;) {
    const rows = await queries.all<RecomputedRow>(
      `SELECT id, exchange_id || '/' || sequence AS name, lines, raw_usage AS raw, amount_micros + overrun_micros AS cost
       FROM charges WHERE revision = 0 AND id > ? ORDER BY id LIMIT ?`,
      [afterId, pageRows],
    )
    for (const row of rows) {
      breaches.push(...recompute(row, prices))
      if (breaches.length >= examplesMax) return [...breaches, 'and more charges that are not what they cost']
    }
    const last = rows[pageRows - 1]
    if (last === undefined) return breaches
    afterId = last.id
  }
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
