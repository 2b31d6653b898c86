import type { AutoTopUpRow } from '../stores/records/auto-top-up-tables.ts'
import type { RecordReader } from '../stores/records/records.ts'

/** Settings whose account has less available than their bound, and may be charged for now. */
export function dueAutoTopUps(
  records: RecordReader,
  now: number,
  limit: number,
): Promise<readonly AutoTopUpRow[]> {
  const { build } = records
  return records.all(
    build
      .selectFrom('auto_top_ups')
      .innerJoin('accounts', 'accounts.id', 'auto_top_ups.account_id')
      .selectAll('auto_top_ups')
      .where('auto_top_ups.state', '=', 'on')
      .where('next_at', '<=', now)
      .where('blocked_at', 'is', null)
      .where(row =>
        row(
          row(
            row('balance_micros', '-', row.ref('debt_micros')),
            '-',
            row.fn.coalesce(
              row
                .selectFrom('holds')
                .select(hold => hold.fn.sum<number>('amount_micros').as('held'))
                .whereRef('holds.account_id', '=', 'accounts.id')
                .where('holds.state', '=', 'open'),
              row.lit(0),
            ),
          ),
          '<',
          row.ref('below_micros'),
        ),
      )
      .where(row =>
        row.not(
          row.exists(
            row
              .selectFrom('payments')
              .select('payments.id')
              .whereRef('payments.account_id', '=', 'accounts.id')
              .where('origin', '=', 'automatic')
              .where('payments.state', 'in', ['created', 'pending']),
          ),
        ),
      )
      .orderBy('next_at')
      .limit(limit),
  )
}
