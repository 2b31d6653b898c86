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
import { chargePage, scanCharges } from './scan-charges.ts'
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

function scanOf(accountId: string, search: ChargeSearch, start: number, limit: number) {
  return {
    accountId,
    sums: sumConditions(search),
    rows: rowConditions(search),
    isSparse: [search.keyId, search.model, search.outcome].some(value => value !== undefined),
    order: 'DESC',
    start,
    limit,
    scanRows,
  } as const
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
  const { rows, ...next } = await chargePage(queries, scanOf(accountId, search, before, limit), scanRowsMax)
  return { charges: rows.map(chargeRecord), ...next }
}

/** All of them, the newest first, read as they are taken. */
export async function* exportCharges(
  queries: StoreQueries,
  accountId: string,
  search: ChargeSearch,
): AsyncGenerator<readonly ChargeRecord[], void, void> {
  const scan = scanOf(accountId, search, Number.MAX_SAFE_INTEGER, exportRows)
  for await (const { rows } of scanCharges(queries, scan)) yield rows.map(chargeRecord)
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
