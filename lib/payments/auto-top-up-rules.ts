import { budgetDay, dayStart } from '../ledger/key-spending.ts'
import type { Micros } from '../money/amount.ts'
import type { AutoTopUpRow } from '../stores/records/payment-tables.ts'
import type { RecordReader } from '../stores/records/records.ts'

const minute = 60_000
const day = 24 * 60 * minute

/** The minimum between two attempts for an account, so that a rapidly falling balance causes no burst of charges. */
export const pauseMs = minute
/** The wait after a failed attempt: banks count attempts, and a card is rarely topped up within a day. */
export const retryMs = day
/** This many failed attempts in a row switch it off. */
export const failuresMax = 3

/** Reasons after which a card will never pay again. */
const finalReasons: ReadonlySet<string> = new Set(
  `permission_revoked card_expired invalid_card_number payment_method_restricted country_forbidden
    identification_required`.split(/\s+/),
)

/** What a failed attempt means for the next one. */
interface FailureMeaning {
  /** The owner revoked the permission at the bank or the provider: the card must never be charged again. */
  readonly forgetsCard: boolean
  /** Another attempt would fail too. */
  readonly isFinal: boolean
}

/** What a failure (`party/reason`) means for the next attempt. */
export function failureMeaning(failure: string): FailureMeaning {
  const [party, reason = ''] = failure.split('/')
  return {
    forgetsCard: reason === 'permission_revoked',
    // A rejected request of our own, or an unlinked card, will not succeed later.
    isFinal: finalReasons.has(reason) || party === 'merchant',
  }
}

/** The start of a calendar month in Moscow, the current one or a later one. */
export function monthStart(at: number, monthsLater = 0): number {
  const date = new Date(budgetDay(at) * day)
  return dayStart(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1) / day)
}

/** Whether one more top-up would exceed the owner's monthly limit. */
export function isBeyondMonth(
  { amountMicros, monthMaxMicros }: { readonly amountMicros: Micros; readonly monthMaxMicros: Micros },
  takenMicros: Micros,
): boolean {
  return takenMicros + amountMicros > monthMaxMicros
}

/** Settings whose account has less available than their threshold and may be charged now. */
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
