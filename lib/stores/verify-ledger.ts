import type { ChargeLine } from '../ledger/price-charge.ts'
import type { Price } from '../money/price.ts'
import { priceLine } from '../money/price-line.ts'
import type { StoreQueries } from './store-queries.ts'

/** At most so many breaches of one kind are told one by one. */
const examplesMax = 20
const pageRows = 2000

/**
 * Each finds the rows that break one invariant, and names them. House accounts have no balance of their own:
 * a row that every charge changed would make all charges wait for each other.
 */
const invariants: readonly (readonly [sentence: string, query: string])[] = [
  [
    'the entries of one transaction do not add up to zero',
    `SELECT exchange_id || '/' || sequence AS name FROM entries
     GROUP BY exchange_id, sequence, revision HAVING sum(amount_micros) <> 0`,
  ],
  [
    'the balance of an account is not the sum of its entries',
    `SELECT id AS name FROM accounts WHERE kind = 'customer' AND balance_micros <>
       coalesce((SELECT total FROM (SELECT account_id, sum(amount_micros) AS total FROM entries GROUP BY account_id)
                 WHERE account_id = accounts.id), 0)`,
  ],
  [
    'the balance of an account is negative',
    `SELECT id AS name FROM accounts WHERE kind = 'customer' AND balance_micros < 0`,
  ],
  [
    'the open holds of an account are more than its balance',
    `SELECT accounts.id AS name FROM accounts JOIN holds ON account_id = accounts.id AND state = 'open'
     GROUP BY accounts.id, balance_micros HAVING sum(amount_micros) > balance_micros`,
  ],
  [
    'a hold is charged, but has no charge',
    `SELECT exchange_id || '/' || sequence AS name FROM holds WHERE state = 'charged' AND NOT EXISTS
       (SELECT 1 FROM charges WHERE exchange_id = holds.exchange_id AND sequence = holds.sequence AND revision = 0)`,
  ],
  [
    'a charge has no hold of the same account that was charged',
    `SELECT exchange_id || '/' || sequence AS name FROM charges WHERE NOT EXISTS
       (SELECT 1 FROM holds WHERE exchange_id = charges.exchange_id AND sequence = charges.sequence
          AND account_id = charges.account_id AND state = 'charged')`,
  ],
  [
    'an exchange has two charges',
    `SELECT exchange_id || '/' || sequence AS name FROM charges
     GROUP BY exchange_id, sequence, revision HAVING count(*) > 1`,
  ],
  [
    'a charge and its entries differ',
    `SELECT exchange_id || '/' || sequence AS name FROM charges WHERE revision = 0 AND (
       amount_micros <> -coalesce((SELECT amount_micros FROM entries WHERE kind = 'charge' AND revision = 0
         AND exchange_id = charges.exchange_id AND sequence = charges.sequence), 0)
       OR overrun_micros <> -coalesce((SELECT amount_micros FROM entries WHERE kind = 'overrun' AND revision = 0
         AND exchange_id = charges.exchange_id AND sequence = charges.sequence), 0))`,
  ],
  [
    'an entry of a charge has no charge',
    `SELECT exchange_id || '/' || sequence AS name FROM entries WHERE kind IN ('charge', 'overrun', 'revenue')
       AND NOT EXISTS (SELECT 1 FROM charges WHERE exchange_id = entries.exchange_id
         AND sequence = entries.sequence AND revision = entries.revision)`,
  ],
  [
    'a charge beyond the money there was is not flagged',
    `SELECT exchange_id || '/' || sequence AS name FROM charges
     WHERE (overrun_micros > 0) <> (flags LIKE '%"overrun"%')`,
  ],
  [
    'what a key has spent is not the sum of its charges',
    `SELECT key_id AS name FROM (SELECT key_id, sum(spent_micros) AS spent FROM key_spending GROUP BY key_id) AS spending
     WHERE spent <> coalesce((SELECT total FROM (SELECT key_id, sum(amount_micros) AS total FROM charges GROUP BY key_id) AS paid
                              WHERE paid.key_id = spending.key_id), 0)`,
  ],
]

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
  readonly cost: number
}

function recompute({ name, lines, cost }: RecomputedRow, prices: ReadonlyMap<string, Price>): string[] {
  const breaches: string[] = []
  const parsed: readonly ChargeLine[] = JSON.parse(lines)
  let sumMicros = 0
  for (const line of parsed) {
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
  const priceRows = await queries.all<{ readonly hash: string; readonly body: string }>(
    'SELECT hash, body FROM prices',
  )
  for (const { hash, body } of priceRows) prices.set(hash, { hash, ...JSON.parse(body) })
  const breaches: string[] = []
  for (let afterId = 0; ;) {
    const rows = await queries.all<RecomputedRow>(
      `SELECT id, exchange_id || '/' || sequence AS name, lines, amount_micros + overrun_micros AS cost
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
