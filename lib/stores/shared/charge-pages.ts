import { budgetDay } from '../../ledger/key-spending.ts'
import type { ChargeReport, ChargeReportsPage, ChargesAfter } from '../../ledger/reports.ts'
import { chargeColumns, chargeReport } from './report-rows.ts'
import type { ChargeRow } from './report-rows.ts'
import type { StoreQueries } from './store-queries.ts'

/** Rows that one query looks through, and that are made into reports at a time: nothing else waits longer. */
const scanRows = 250
/** Rows that are looked through for one page; what is rarer is looked for further from the next page on. */
const scanRowsMax = 20_000

/** Where charges that are looked for lie: between two ids, among others. */
interface Range {
  readonly first: number
  readonly last: number
}

interface Place {
  readonly id: number
  readonly exchange_id: string
  readonly sequence: number
}

/**
 * A page of the charges of a key, oldest first. The sums say which days have any; within those, rows are looked
 * through by the account's index, so many at most, however rare the charges are and however many there are.
 */
export async function chargesPage(
  queries: StoreQueries,
  accountId: string,
  which: ChargesAfter,
  limit: number,
): Promise<ChargeReportsPage> {
  const afterId = which.after === undefined ? 0 : await placeOf(queries, accountId, which.after)
  if (afterId === undefined) return { charges: [] }
  const charges: ChargeReport[] = []
  let looked = 0
  for await (const { rows, end } of scan(queries, accountId, which, afterId)) {
    for (const row of rows) {
      const last = charges[limit - 1]
      if (last !== undefined) return { charges, next: placeName(last.requestId, last.sequence) }
      charges.push(chargeReport(row))
    }
    looked += scanRows
    if (looked >= scanRowsMax) return { charges, next: placeName(end.exchange_id, end.sequence) }
  }
  return { charges }
}

/** Looks for charges in short queries; `end` is the last row that was looked at. */
async function* scan(
  queries: StoreQueries,
  accountId: string,
  { keyId, since = 0 }: ChargesAfter,
  afterId: number,
): AsyncGenerator<{ readonly rows: readonly ChargeRow[]; readonly end: Place }, void, void> {
  for (const { first, last } of await ranges(queries, accountId, keyId, since, afterId)) {
    for (let from = Math.max(first, afterId + 1); from <= last;) {
      const end: Place | undefined = await lastOf(queries, accountId, from, last)
      if (end === undefined) break
      const rows = await queries.all<ChargeRow>(
        `SELECT ${chargeColumns} FROM charges
         WHERE account_id = ? AND id >= ? AND id <= ? AND revision = 0 AND key_id = ? AND at >= ? ORDER BY id`,
        [accountId, from, end.id, keyId, since],
      )
      yield { rows, end }
      from = end.id + 1
    }
  }
}

/** An exchange may have many charges, with those of others between them, so its id alone says no place. */
function placeName(exchangeId: string, sequence: number): string {
  return `${exchangeId}.${sequence}`
}

/** The id that a page goes on after; undefined when the account has no such charge. */
async function placeOf(queries: StoreQueries, accountId: string, after: string): Promise<number | undefined> {
  const [exchangeId = '', sequence] = after.split('.', 2)
  // SQLite would take the account's index, which leads to all its charges; of an expression it cannot.
  const [place] = await queries.all<{ readonly id: number | null }>(
    `SELECT max(id) AS id FROM charges WHERE exchange_id = ? AND sequence <= ? AND account_id || '' = ?`,
    [exchangeId, sequence === undefined ? 2 ** 31 - 1 : Number(sequence), accountId],
  )
  return place?.id ?? undefined
}

/** The days that have such charges, the oldest first. Days whose ids overlap are one range. */
async function ranges(
  queries: StoreQueries,
  accountId: string,
  keyId: string,
  since: number,
  afterId: number,
): Promise<readonly Range[]> {
  const days = await queries.all<Range>(
    `SELECT min(first_id) AS first, max(last_id) AS last FROM charge_sums
     WHERE account_id = ? AND day >= ? AND key_id = ? AND last_id > ? GROUP BY day ORDER BY 1`,
    [accountId, budgetDay(since), keyId, afterId],
  )
  const merged: { first: number; last: number }[] = []
  for (const day of days) {
    const older = merged.at(-1)
    if (older === undefined || day.first > older.last) merged.push({ ...day })
    else older.last = Math.max(older.last, day.last)
  }
  return merged
}

/** The last row that one query looks through from an id on; undefined when there is none. */
async function lastOf(
  queries: StoreQueries,
  accountId: string,
  from: number,
  last: number,
): Promise<Place | undefined> {
  const [place] = await queries.all<Place>(
    `SELECT id, exchange_id, sequence FROM charges WHERE id = (SELECT max(id) FROM
       (SELECT id FROM charges WHERE account_id = ? AND id >= ? AND id <= ? ORDER BY id LIMIT ?) AS looked)`,
    [accountId, from, last, scanRows],
  )
  return place
}
