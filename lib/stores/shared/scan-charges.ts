import type { Conditions } from './charges-by-id.ts'
import { chargeColumns, type ChargeRow } from './report-rows.ts'
import type { StoreQueries } from './store-queries.ts'

/** Which charges of an account are looked for, and from where on. */
interface ChargeScan {
  readonly accountId: string
  /** What their sums are like, which say on which days there are any. */
  readonly sums: Conditions
  readonly rows: Conditions
  /** Whether they may be rare among the account's others. */
  readonly isSparse: boolean
  readonly order: 'ASC' | 'DESC'
  /** The id that stands before the first one, in this order. */
  readonly start: number
  /** Rows that one query finds. */
  readonly limit: number
  /** Rows that one query looks through: nothing else waits longer for the thread. */
  readonly scanRows: number
}

/** Where charges that are looked for lie, among others: from one id on up to another, in the order of the scan. */
interface Range {
  near: number
  far: number
  charges: number
}

interface Scanned {
  readonly rows: readonly ChargeRow[]
  /** The id up to which everything was looked through. */
  readonly end: number
  /** Rows that were looked through, at most. */
  readonly looked: number
}

/** The days that have such charges, in the order of the scan. Days whose ids overlap are one range. */
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

/** Looks for charges in queries that are short however rare the charges are. */
export async function* scanCharges(
  queries: StoreQueries,
  scan: ChargeScan,
): AsyncGenerator<Scanned, void, void> {
  const { accountId, rows: which, isSparse, order, start, limit, scanRows } = scan
  const isUp = order === 'ASC'
  const step = isUp ? 1 : -1
  const within = `account_id = ? AND id ${isUp ? '>= ? AND id <= ?' : '<= ? AND id >= ?'}`
  const select = `SELECT ${chargeColumns} FROM charges
    WHERE ${within} AND revision = 0${which.sql} ORDER BY id ${order} LIMIT ?`
  const selectEdge = `SELECT id FROM charges WHERE ${within} ORDER BY id ${order} LIMIT 1 OFFSET ?`
  for (const { near, far, charges } of await ranges(queries, scan)) {
    const isWhole = (near - start) * step > 0
    // How many lie beyond a place within a range is not known.
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
      yield { rows, end: left <= 0 ? far : end, looked: isSparse ? scanRows : rows.length }
      from = end + step
    }
  }
}

/**
 * One page of a scan. It may be short of its limit where what is looked for is rare.
 * @param looksMax rows that are looked through; what is rarer is looked for further from the next page on
 * @returns the id that the next page goes on from, where there may be one
 */
export async function chargePage(
  queries: StoreQueries,
  scan: ChargeScan,
  looksMax: number,
): Promise<{ readonly rows: readonly ChargeRow[]; readonly next?: number }> {
  const rows: ChargeRow[] = []
  let looked = 0
  for await (const found of scanCharges(queries, { ...scan, limit: scan.limit + 1 })) {
    rows.push(...found.rows)
    const last = rows[scan.limit - 1]
    if (last !== undefined && rows.length > scan.limit)
      return { rows: rows.slice(0, scan.limit), next: last.id }
    looked += found.looked
    if (looked >= looksMax) return { rows, next: found.end }
  }
  return { rows }
}
