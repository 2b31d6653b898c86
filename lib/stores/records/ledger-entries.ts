import type { RawBuilder, Sql } from 'kysely'
import type { RecordReader } from './records.ts'

/**
 * Entries that moved a balance and belong to no charge. A query uses the index only if it has exactly this condition.
 */
export const movementCondition = `kind <> 'charge' AND kind <> 'revenue' AND kind <> 'cash' AND kind <> 'overrun'`

/** Whether an entry is such a movement. */
export function isMovement(sql: Sql): RawBuilder<boolean> {
  return sql<boolean>`${sql.raw(movementCondition)}`
}

interface Sum {
  readonly account_id: string
  readonly micros: number
}

/**
 * What the accounts that have rows in a table have paid for usage up to the end of a day in Moscow: charges, and
 * repayments of what went beyond the balance, less what corrections returned. By account; accounts that have paid
 * nothing are absent.
 */
export async function chargedUntil(
  records: RecordReader,
  {
    accountsOf,
    day,
    end,
  }: { readonly accountsOf: 'companies' | 'payments'; readonly day: number; readonly end: number },
): Promise<ReadonlyMap<string, number>> {
  const { sql } = records
  const accounts = sql`SELECT account_id FROM ${sql.table(accountsOf)}`
  const query = sql<Sum>`SELECT account_id, sum(micros) AS micros FROM (
      SELECT account_id, spent_micros AS micros FROM charge_sums
        WHERE day <= ${day} AND account_id IN (${accounts})
      UNION ALL
      SELECT account_id, -amount_micros AS micros FROM entries
        WHERE kind = 'repayment' AND at < ${end} AND account_id IN (${accounts})
      UNION ALL
      SELECT account_id, -amount_micros AS micros FROM entries
        WHERE kind = 'correction' AND at < ${end} AND account_id IN (${accounts})
    ) AS paid GROUP BY account_id`
  const rows = await records.all({ compile: () => query.compile(records.build) })
  return new Map(rows.map(row => [row.account_id, Number(row.micros)]))
}
