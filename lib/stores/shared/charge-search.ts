import type {
  ChargeRecord,
  ChargeSearch,
  ChargesPage,
  ChargesTotal,
  ExchangeCharges,
} from '../../ledger/reports.ts'
import { dayStart } from '../../ledger/key-spending.ts'
import { conditions, type Conditions, chargeColumns, chargeRecord, type ChargeRow } from './report-rows.ts'
import type { StoreQueries } from './store-queries.ts'
import { storedPricesOf } from './stored-prices.ts'

/** Rows that one query scans: bounds how long other work waits for the thread. */
const scanRows = 2000
/** Rows scanned for one page; the search for rarer charges continues with the next page. */
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

/** A page of charges before an id. It may be shorter than its limit when matches are rare. */
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

/** All matching charges, newest first, read page by page as the caller consumes them. */
export async function* exportCharges(
  queries: StoreQueries,
  accountId: string,
  search: ChargeSearch,
): AsyncGenerator<readonly ChargeRecord[], void, void> {
  const scan = scanOf(accountId, search, Number.MAX_SAFE_INTEGER, exportRows)
  for await (const { rows } of scanCharges(queries, scan)) yield rows.map(chargeRecord)
}

/** The number and amount of matching charges, from the sums: reads no charge. */
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

/** The charges of one exchange, from a sequence on; undefined when it belongs to another account or was not charged. */
export async function exchangeCharges(
  queries: StoreQueries,
  accountId: string,
  exchangeId: string,
  { from, limit }: { readonly from: number; readonly limit: number },
): Promise<ExchangeCharges | undefined> {
  // The expression keeps SQLite from using the account's index, which leads to all charges of the account.
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

/** A search for charges of an account, and where it begins. */
interface ChargeScan {
  readonly accountId: string
  /** Conditions on the sums, which say on which days there are matching charges. */
  readonly sums: Conditions
  readonly rows: Conditions
  /** Whether matches may be rare among the account's charges. */
  readonly isSparse: boolean
  readonly order: 'ASC' | 'DESC'
  /** The scan begins after this id, in its order. */
  readonly start: number
  /** Rows that one query returns at most. */
  readonly limit: number
  /** Rows that one query scans: bounds how long other work waits for the thread. */
  readonly scanRows: number
}

/** A range of ids that has matching charges among others, from `near` to `far` in the order of the scan. */
interface Range {
  near: number
  far: number
  charges: number
}

interface Scanned {
  readonly rows: readonly ChargeRow[]
  /** The id up to which all rows were scanned. */
  readonly end: number
  /** Rows that were scanned, at most. */
  readonly scanned: number
}

/** The days that have matching charges, as ranges in the order of the scan. Days whose ids overlap are one range. */
async function ranges(
  queries: StoreQueries,
  { accountId, sums, order, start }: ChargeScan,
): Promise<readonly Range[]> {
  const isUp = order === 'ASC'
  const [near, far, isAhead] = isUp
    ? ['min(first_id)', 'max(last_id)', 'last_id > ?']
    : ['max(last_id)', 'min(first_id)', 'first_id < ?']
  const days = await queries.all<Range>(
    `SELECT ${near} AS near, ${far} AS far, CAST(sum(charges) AS BIGINT) AS charges
     FROM charge_sums WHERE account_id = ? AND ${isAhead}${sums.sql} GROUP BY day ORDER BY 1 ${order}`,
    [accountId, start, ...sums.values],
  )
  const merged: Range[] = []
  for (const day of days) {
    const last = merged.at(-1)
    if (last === undefined || (isUp ? day.near > last.far : day.near < last.far)) merged.push({ ...day })
    else {
      last.far = isUp ? Math.max(last.far, day.far) : Math.min(last.far, day.far)
      last.charges += day.charges
    }
  }
  return merged
}

/** Finds charges with queries that stay short however rare the matches are. */
async function* scanCharges(queries: StoreQueries, scan: ChargeScan): AsyncGenerator<Scanned, void, void> {
  const { accountId, rows: which, isSparse, order, start, limit, scanRows } = scan
  const isUp = order === 'ASC'
  const step = isUp ? 1 : -1
  const within = `account_id = ? AND id ${isUp ? '>= ? AND id <= ?' : '<= ? AND id >= ?'}`
  const select = `SELECT ${chargeColumns} FROM charges
    WHERE ${within} AND revision = 0${which.sql} ORDER BY id ${order} LIMIT ?`
  const selectEdge = `SELECT id FROM charges WHERE ${within} ORDER BY id ${order} LIMIT 1 OFFSET ?`
  for (const { near, far, charges } of await ranges(queries, scan)) {
    const isWhole = (near - start) * step > 0
    // The sums count whole ranges: how many matches are left from a place inside a range is unknown.
    let left = isWhole ? charges : Infinity
    for (let from = isWhole ? near : start + step; (far - from) * step >= 0 && left > 0;) {
      const place = [accountId, from, far]
      const [edge] = isSparse
        ? await queries.all<{ readonly id: number }>(selectEdge, [...place, scanRows - 1])
        : []
      const to = edge?.id ?? far
      const values = [accountId, from, to, ...which.values, limit]
      const rows: readonly ChargeRow[] = await queries.all<ChargeRow>(select, values)
      const end: number = rows[limit - 1]?.id ?? to
      left -= rows.length
      yield { rows, end: left <= 0 ? far : end, scanned: isSparse ? scanRows : rows.length }
      from = end + step
    }
  }
}

/**
 * One page of a scan. It may be shorter than its limit when matches are rare.
 * @param scannedMax rows scanned for the page; the search continues with the next page
 * @returns the rows, and the id after which the next page begins, if there may be one
 */
export async function chargePage(
  queries: StoreQueries,
  scan: ChargeScan,
  scannedMax: number,
): Promise<{ readonly rows: readonly ChargeRow[]; readonly next?: number }> {
  const rows: ChargeRow[] = []
  let scanned = 0
  for await (const found of scanCharges(queries, { ...scan, limit: scan.limit + 1 })) {
    rows.push(...found.rows)
    const last = rows[scan.limit - 1]
    if (last !== undefined && rows.length > scan.limit)
      return { rows: rows.slice(0, scan.limit), next: last.id }
    scanned += found.scanned
    if (scanned >= scannedMax) return { rows, next: found.end }
  }
  return { rows }
}
