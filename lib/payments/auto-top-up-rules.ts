import { budgetDay, dayStart } from '../ledger/key-spending.ts'
import type { Micros } from '../money/amount.ts'
import type { AutoTopUpRow } from '../stores/records/payment-tables.ts'
import type { RecordReader } from '../stores/records/records.ts'

const minute = 60_000
const day = 24 * 60 * minute

/** Between two attempts for an account, so that a balance that falls fast is not charged for in a burst. */
export const pauseMs = minute
/** After an attempt that failed: banks count attempts, and money on a card comes by the day. */
export const retryMs = day
/** So many attempts that failed in a row switch it off. */
export const failuresMax = 3

/** Reasons by which a card will never pay again. */
const finalReasons: ReadonlySet<string> = new Set(
  `permission_revoked card_expired invalid_card_number payment_method_restricted country_forbidden
    identification_required`.split(/\s+/),
)

/** What a failed attempt means for the next one. */
interface FailureMeaning {
  /** The owner took the permission back at the bank or the provider: the card is charged never again. */
  readonly forgetsCard: boolean
  /** There is no use in a next attempt. */
  readonly isFinal: boolean
}

/** What a failure (`party/reason`) means for the next attempt. */
export function failureMeaning(failure: string): FailureMeaning {
  const [party, reason = ''] = failure.split('/')
  return {
    forgetsCard: reason === 'permission_revoked',
    // What our own request was refused for, or an unlinked card, does not mend itself.
    isFinal: finalReasons.has(reason) || party === 'merchant',
  }
}

/** When a calendar month begins in Moscow, this one or one after it. */
export function monthStart(at: number, monthsLater = 0): number {
  const date = new Date(budgetDay(at) * day)
  return dayStart(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1) / day)
}

/** Whether one more top-up would go beyond what the owner allows a month. */
export function isBeyondMonth(
  { amountMicros, monthMaxMicros }: { readonly amountMicros: Micros; readonly monthMaxMicros: Micros },
  takenMicros: Micros,
): boolean {
  return takenMicros + amountMicros > monthMaxMicros
}

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
