import { budgetDays, keyBudget } from '../../ledger/key-spending.ts'
import type { KeyUse, ModelSpending } from '../../ledger/reports.ts'
import { keyRecord } from './key-record.ts'
import type { KeyRow } from './store-operation.ts'
import type { StoreQueries } from './store-queries.ts'

/** What an account spent on each model on each of some days, from the sums: no charge is read. */
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

/** Holds are looked at for keys with a budget only: an account may have many open at once. */
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

/** Keys of an account with what they are used for, the newest first. */
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
