import { budgetDay, budgetDays, keyBudget } from '../../ledger/key-spending.ts'
import type { ChargeReportsPage, ChargesAfter, KeyUse, ModelSpending } from '../../ledger/reports.ts'
import { conditions, chargeReport, type ChargeRow } from './report-rows.ts'
import { chargePage } from './charge-search.ts'
import type { StoreQueries } from './store-queries.ts'
import { keyRecord } from './stored-keys.ts'
import type { KeyRow } from './ledger-columns.ts'

/** Rows that one query scans and that are turned into reports at a time: bounds how long other work waits. */
const scanRows = 250
/** Rows scanned for one page; the search for rarer charges continues with the next page. */
const scanRowsMax = 20_000

/**
 * A page of the charges of a key, oldest first. The sums say which days have any; within those days, rows are scanned
 * by the account's index, a bounded number for each page however many charges there are and however rare the matches
 * are.
 */
export async function chargesPage(
  queries: StoreQueries,
  accountId: string,
  which: ChargesAfter,
  limit: number,
): Promise<ChargeReportsPage> {
  const afterId = which.after === undefined ? 0 : await placeOf(queries, accountId, which.after)
  if (afterId === undefined) return { charges: [] }
  const { keyId, since = 0 } = which
  const scan = {
    accountId,
    sums: conditions([
      ['day >= ?', budgetDay(since)],
      ['key_id = ?', keyId],
    ]),
    rows: conditions([
      ['key_id = ?', keyId],
      ['at >= ?', since],
    ]),
    isSparse: true,
    order: 'ASC',
    start: afterId,
    limit,
    scanRows,
  } as const
  const { rows, next } = await chargePage(queries, scan, scanRowsMax)
  const charges = rows.map(chargeReport)
  return next === undefined ? { charges } : { charges, next: await placeAt(queries, next) }
}

/** The cursor that names a charge. An exchange may have many charges, with those of other exchanges between them. */
async function placeAt(queries: StoreQueries, id: number): Promise<string> {
  const [place] = await queries.all<Pick<ChargeRow, 'exchange_id' | 'sequence'>>(
    'SELECT exchange_id, sequence FROM charges WHERE id = ?',
    [id],
  )
  if (place === undefined) throw new Error(`the store has no charge ${id}, although the search returned it`)
  return `${place.exchange_id}.${place.sequence}`
}

/** The id after which a page begins; undefined when the account has no such charge. */
async function placeOf(queries: StoreQueries, accountId: string, after: string): Promise<number | undefined> {
  const [exchangeId = '', sequence] = after.split('.', 2)
  // The expression keeps SQLite from using the account's index, which leads to all charges of the account.
  const [place] = await queries.all<{ readonly id: number | null }>(
    `SELECT max(id) AS id FROM charges WHERE exchange_id = ? AND sequence <= ? AND account_id || '' = ?`,
    [exchangeId, sequence === undefined ? 2 ** 31 - 1 : Number(sequence), accountId],
  )
  return place?.id ?? undefined
}

/** What an account spent on each model, by day, from the sums: reads no charge. */
export async function modelSpending(
  queries: StoreQueries,
  accountId: string,
  fromDay: number,
): Promise<readonly ModelSpending[]> {
  return queries.all<ModelSpending>(
    `SELECT day, model, CAST(sum(charges) AS BIGINT) AS charges, CAST(sum(spent_micros) AS BIGINT) AS "spentMicros"
     FROM charge_sums WHERE account_id = ? AND day >= ? GROUP BY day, model ORDER BY day, model`,
    [accountId, fromDay],
  )
}

interface KeyUseRow extends KeyRow {
  readonly last_at: number | null
  readonly spent_micros: number
  readonly held_micros: number
  readonly worst_micros: number
}

/** Sums holds for keys with a budget only: an account may have many open at once. */
const selectUses = `SELECT keys.*,
  (SELECT last_at FROM key_spending WHERE key_id = keys.id ORDER BY day DESC LIMIT 1) AS last_at,
  CASE WHEN budget_micros IS NULL THEN 0 ELSE
    (SELECT CAST(coalesce(sum(spent_micros), 0) AS BIGINT) FROM key_spending WHERE key_id = keys.id
     AND day >= CASE budget_period WHEN 'day' THEN ? WHEN 'week' THEN ? WHEN 'month' THEN ? ELSE 0 END) END AS spent_micros,
  CASE WHEN budget_micros IS NULL THEN 0 ELSE
    (SELECT CAST(coalesce(sum(amount_micros), 0) AS BIGINT) FROM holds
     WHERE state = 'open' AND account_id = keys.account_id AND key_id = keys.id) END AS held_micros,
  CASE WHEN budget_micros IS NULL THEN 0 ELSE
    (SELECT CAST(coalesce(sum(worst_micros), 0) AS BIGINT) FROM holds
     WHERE state = 'open' AND account_id = keys.account_id AND key_id = keys.id) END AS worst_micros
  FROM keys WHERE account_id = ?`

/** Keys of an account with their last use and budget, newest first. */
export async function keyUses(
  queries: StoreQueries,
  accountId: string,
  now: number,
  { isRevoked, limit }: { readonly isRevoked: boolean; readonly limit: number },
): Promise<readonly KeyUse[]> {
  const firstDay = (period: 'day' | 'week' | 'month'): number => budgetDays(period, now).from
  const rows = await queries.all<KeyUseRow>(
    isRevoked
      ? `${selectUses} AND revoked_at IS NOT NULL ORDER BY revoked_at DESC, id DESC LIMIT ?`
      : `${selectUses} AND revoked_at IS NULL ORDER BY created_at DESC, id DESC LIMIT ?`,
    [firstDay('day'), firstDay('week'), firstDay('month'), accountId, limit],
  )
  return rows.map(row => keyUse(row, now))
}

function keyUse(row: KeyUseRow, now: number): KeyUse {
  const key = keyRecord(row)
  const { budgetMicros, budgetPeriod: period = 'total' } = key
  const held = { likelyMicros: row.held_micros, worstMicros: row.worst_micros }
  return {
    key,
    ...(row.last_at === null || row.last_at === 0 ? {} : { lastUsedAt: row.last_at }),
    ...(budgetMicros === undefined
      ? {}
      : { budget: keyBudget({ budgetMicros, period }, row.spent_micros, held, now) }),
  }
}
