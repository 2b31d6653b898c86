import { dayEnd, dayNumber, lastDay, moscowDay, shiftMonth } from '../ledger/moscow-days.ts'
import type { Micros } from '../money/amount.ts'
import { microsPerKopeck } from '../money/kopecks.ts'
import { chargedUntil } from '../stores/records/charged-until.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { RecordReader } from '../stores/records/records.ts'
import type { Payment } from './payment-reader.ts'
import type { PaymentUse } from './payment-use.ts'
import type { PaymentContext } from './payments.ts'
import { isPrepayment, receiptBody, receiptSettings } from './receipt-bodies.ts'

/** What is charged in the last moments of a month is written some moments later. */
const settledMs = 3 * 3_600_000

interface OffsetsOptions extends Pick<PaymentContext, 'rows' | 'clock' | 'log' | 'settings'> {
  readonly records: RecordReader
  readonly use: PaymentUse
}

/**
 * Receipts of the use of what was paid before: one for each payment and month, of what was spent of it by the month's
 * end and is in no receipt yet. So kopecks never drift, and a month in which the gateway did not run is in the next.
 */
export class Offsets {
  readonly #options: OffsetsOptions
  /** The month that this process has gone through. */
  #done: string | undefined

  constructor(options: OffsetsOptions) {
    this.#options = options
  }

  /** Makes the receipts of the last month that is over; answers how many. Run again, it makes none. */
  async closeLastMonth(): Promise<number> {
    const { clock, settings, log } = this.#options
    const month = shiftMonth(moscowDay(clock.now() - settledMs).slice(0, 7), -1)
    if (month === this.#done) return 0
    const end = dayEnd(lastDay(month))
    const said = receiptSettings(settings(), end - 1)
    let made = 0
    if (said !== undefined && isPrepayment(said)) {
      const charged = await chargedUntil(this.#options.records, {
        accountsOf: 'payments',
        day: dayNumber(lastDay(month)),
        end,
      })
      for (const [accountId, chargedMicros] of charged) {
        made += await this.#closeAccount(accountId, { month, end, chargedMicros })
      }
    }
    if (made > 0) log.info({ month, receipts: made }, 'receipts of use were made')
    this.#done = month
    return made
  }

  async #closeAccount(
    accountId: string,
    {
      month,
      end,
      chargedMicros,
    }: { readonly month: string; readonly end: number; readonly chargedMicros: Micros },
  ): Promise<number> {
    const unused = await this.#options.rows.unusedPayments(accountId, end)
    if (unused.length === 0) return 0
    const used = await this.#options.use.usedUntil(accountId, end, chargedMicros)
    let made = 0
    for (const payment of unused) {
      const usedMicros = Math.floor((used.get(payment.id) ?? 0) / microsPerKopeck) * microsPerKopeck
      const newMicros = usedMicros - payment.offset_micros
      if (newMicros > 0 && (await this.#make(payment, { month, end, amountMicros: newMicros }))) made += 1
    }
    return made
  }

  /** False when somebody else made it, or a refund came between: it is in the next month's then. */
  async #make(
    payment: Payment,
    {
      month,
      end,
      amountMicros,
    }: { readonly month: string; readonly end: number; readonly amountMicros: Micros },
  ): Promise<boolean> {
    const { rows, clock, settings } = this.#options
    const { id, account_id, provider_id, receipt_email: email, created_at: paidAt } = payment
    const said = receiptSettings(settings(), end - 1)
    // What was paid without a receipt, or with one of full payment, needs none at its use.
    const paidBy = receiptSettings(settings(), paidAt)
    if (provider_id === null || said === undefined || paidBy === undefined || !isPrepayment(paidBy))
      return false
    try {
      await rows.write([
        rows.addOffset(payment, amountMicros),
        rows.addReceipt({
          kind: 'offset',
          account_id,
          payment_id: id,
          refund_id: null,
          month,
          state: 'created',
          amount_micros: amountMicros,
          request: receiptBody('offset', { payment: provider_id }, { email, amountMicros }, said),
          now: clock.now(),
        }),
      ])
      return true
    } catch (error) {
      if (error instanceof RecordConflictError) return false
      throw error
    }
  }
}
