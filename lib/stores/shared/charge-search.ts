import type {
  ChargeRecord,
  ChargeSearch,
  ChargesPage,
  ChargesTotal,
  ExchangeCharges,
} from '../../ledger/charge-records.ts'
import { dayStart } from '../../ledger/key-spending.ts'
import { conditions, type Conditions } from './charges-by-id.ts'
import { chargeColumns, chargeRecord, type ChargeRow } from './report-rows.ts'
import type { StoreQueries } from './store-queries.ts'
import { storedPricesOf } from './stored-prices.ts'

/** Rows that one query looks through: nothing else waits longer for the thread. */
const scanRows = 2000
/** Rows that are looked through for one page; what is rarer is looked for further from the next page on. */
const scanRowsMax = 30_000
/** Rows that an export reads at a time. */
const exportRows = 500

function sumConditions({ fromDay, untilDay, keyId, model, outcome }: ChargeSearch): Conditions {
  return conditions([
    ['day >= ?', fromDay],
    ['day <= ?', untilDay],
    ['key_id = ?', keyId],
    ['model = ?', model],
    ['outcome = ?', outcome],
  ])
}

function rowConditions({ fromDay, untilDay, keyId, model, outcome }: ChargeSearch): Conditions {
  return conditions([
    ['at >= ?', fromDay === undefined ? undefined : dayStart(fromDay)],
    ['at < ?', untilDay === undefined ? undefined : dayStart(untilDay + 1)],
    ['key_id = ?', keyId],
    ['model = ?', model],
    ['outcome = ?', outcome],
  ])
}

/** Where charges that are looked for lie: between two ids, among others. */
interface Range {
  first: number
  last: number
  charges: number
}

/** The days that have such charges, the newest first. Days whose ids overlap are one range. */
async function ranges(
  queries: StoreQueries,
  accountId: string,
  search: ChargeSearch,
  before: number,
): Promise<readonly Range[]> {
  const { sql, values } = sumConditions(search)
  const days = await queries.all<Range>(
    `SELECT min(first_id) AS first, max(last_id) AS last, CAST(sum(charges) AS BIGINT) AS charges
     FROM charge_sums WHERE account_id = ? AND first_id < ?${sql} GROUP BY day ORDER BY 2 DESC`,
    [accountId, before, ...values],
  )
  const merged: Range[] = []
  for (const day of days) {
    const newer = merged.at(-1)
    if (newer === undefined || day.last < newer.first) merged.push({ ...day })
    else {
      newer.first = Math.min(newer.first, day.first)
      newer.charges += day.charges
    }
  }
  return merged
}

interface Scanned {
  readonly rows: readonly ChargeRow[]
  /** Everything from this id on was looked through. */
  readonly low: number
  /** Rows that were looked through, at most. */
  readonly looked: number
}

/** Looks for charges, the newest first, in queries that are short however rare the charges are. */
async function* scan(
  queries: StoreQueries,
  accountId: string,
  search: ChargeSearch,
  { before, limit }: { readonly before: number; readonly limit: number },
): AsyncGenerator<Scanned, void, void> {
  const { sql, values } = rowConditions(search)
  const isSparse = [search.keyId, search.model, search.outcome].some(value => value !== undefined)
  const select = `SELECT ${chargeColumns} FROM charges
    WHERE account_id = ? AND revision = 0 AND id <= ? AND id >= ?${sql} ORDER BY id DESC LIMIT ?`
  for (const { first, last, charges } of await ranges(queries, accountId, search, before)) {
    let high = Math.min(last, before - 1)
    // How many lie before a place within a range is not known.
    let left = last < before ? charges : Infinity
    while (high >= first && left > 0) {
      const low = isSparse ? await floor(queries, accountId, high, first) : first
      const rows = await queries.all<ChargeRow>(select, [accountId, high, low, ...values, limit])
      const lowest = rows.length === limit ? (rows.at(-1)?.id ?? low) : low
      left -= rows.length
      yield { rows, low: left <= 0 ? first : lowest, looked: isSparse ? scanRows : rows.length }
      high = lowest - 1
    }
  }
}

/** The id down to which one query may look from another one. */
async function floor(queries: StoreQueries, accountId: string, high: number, first: number): Promise<number> {
  const [row] = await queries.all<{ readonly id: number }>(
    `SELECT id FROM charges WHERE account_id = ? AND id <= ? AND id >= ? ORDER BY id DESC LIMIT 1 OFFSET ?`,
    [accountId, high, first, scanRows - 1],
  )
  return row?.id ?? first
}

/** A page of charges before an id. It may be short of its limit where what is looked for is rare. */
export async function findCharges(
  queries: StoreQueries,
  accountId: string,
  search: ChargeSearch,
  {
    before = Number.MAX_SAFE_INTEGER,
    limit,
  }: { readonly before?: number | undefined; readonly limit: number },
): Promise<ChargesPage> {
  const charges: ChargeRecord[] = []
  let looked = 0
  for await (const found of scan(queries, accountId, search, { before, limit: limit + 1 })) {
    charges.push(...found.rows.map(chargeRecord))
    const last = charges[limit - 1]
    if (last !== undefined && charges.length > limit)
      return { charges: charges.slice(0, limit), next: last.id }
    looked += found.looked
    if (looked >= scanRowsMax) return { charges, next: found.low }
  }
  return { charges }
}

/** All of them, the newest first, read as they are taken. */
export async function* exportCharges(
  queries: StoreQueries,
  accountId: string,
  search: ChargeSearch,
): AsyncGenerator<readonly ChargeRecord[], void, void> {
  const all = { before: Number.MAX_SAFE_INTEGER, limit: exportRows }
  for await (const { rows } of scan(queries, accountId, search, all)) yield rows.map(chargeRecord)
}

/** What they come to, from the sums: no charge is read. */
export async function chargesTotal(
  queries: StoreQueries,
  accountId: string,
  search: ChargeSearch,
): Promise<ChargesTotal> {
  const { sql, values } = sumConditions(search)
  const [total] = await queries.all<ChargesTotal>(
    `SELECT CAST(coalesce(sum(charges), 0) AS BIGINT) AS charges,
       CAST(coalesce(sum(spent_micros), 0) AS BIGINT) AS "amountMicros"
     FROM charge_sums WHERE account_id = ?${sql}`,
    [accountId, ...values],
  )
  return total ?? { charges: 0, amountMicros: 0 }
}

/** Models that the account was charged for, by name. */
export async function chargedModels(
  queries: StoreQueries,
  accountId: string,
  limit: number,
): Promise<readonly string[]> {
  const rows = await queries.all<{ readonly model: string }>(
    'SELECT DISTINCT model FROM charge_sums WHERE account_id = ? ORDER BY model LIMIT ?',
    [accountId, limit],
  )
  return rows.map(({ model }) => model)
}

/** What one exchange was charged, from a sequence on; undefined when it is another account's, or was not charged. */
export async function exchangeCharges(
  queries: StoreQueries,
  accountId: string,
  exchangeId: string,
  { from, limit }: { readonly from: number; readonly limit: number },
): Promise<ExchangeCharges | undefined> {
  // SQLite would take the account's index, which leads to all its charges; of an expression it cannot.
  const own = `FROM charges WHERE exchange_id = ? AND account_id || '' = ? AND revision = 0`
  const [total] = await queries.all<ChargesTotal>(
    `SELECT count(*) AS charges, CAST(coalesce(sum(amount_micros), 0) AS BIGINT) AS "amountMicros" ${own}`,
    [exchangeId, accountId],
  )
  if (total === undefined || total.charges === 0) return undefined
  const rows = await queries.all<ChargeRow>(
    `SELECT ${chargeColumns} ${own} AND sequence >= ? ORDER BY sequence LIMIT ?`,
    [exchangeId, accountId, from, limit],
  )
  const charges = rows.map(chargeRecord)
  const versions = new Set(charges.flatMap(({ lines }) => lines.map(line => line.priceVersion)))
  return { charges, total, prices: await storedPricesOf(queries, [...versions]) }
}
