import type { Reports } from '../ledger/reports.ts'
import type { Micros } from '../money/amount.ts'
import { tryWrite, type RecordReader } from '../stores/records/records.ts'
import type { Payment } from './payment-reader.ts'
import { dayEnd, dayNumber, lastDay, moscowDay, shiftMonth } from '../ledger/moscow-days.ts'
import { microsPerKopeck } from '../money/kopecks.ts'
import { chargedUntil, isMovement } from '../stores/records/ledger-entries.ts'
import type { PaymentContext } from './payments.ts'
import { isPrepayment, receiptBody, receiptSettings } from './payment-request.ts'

/** Something that moved a balance and was no charge, in the order in which it came. */
export interface MoneyMoved {
  /** `payment:<id>`, `refund:<id>`, `credit:<key>`. */
  readonly id: string
  readonly kind: string
  readonly amountMicros: Micros
}

/** A payment as far as it is still the customer's: what was not returned. */
interface PaidLot {
  readonly id: string
  readonly netMicros: Micros
}

const paymentPrefix = 'payment:'

/** What of payments is used and what is not, worked out from the ledger. */
export class PaymentUse {
  readonly #records: RecordReader
  readonly #reports: Pick<Reports, 'balance'>

  constructor(records: RecordReader, reports: Pick<Reports, 'balance'>) {
    this.#records = records
    this.#reports = reports
  }

  /** What of a payment can be sent back now: what is neither used nor held, nor in a receipt of use. */
  async unspent(payment: Payment): Promise<Micros> {
    const { id, account_id: accountId, amount_micros: amountMicros } = payment
    // First what there is: what is spent meanwhile makes it less, and never more.
    const balance = await this.#reports.balance(accountId)
    if (balance === undefined) return 0
    const moved = await this.#moved(accountId, Number.MAX_SAFE_INTEGER)
    const came = moved.reduce((sum, one) => (isUsage(one) ? sum : sum + one.amountMicros), 0)
    const used = await this.#used(accountId, moved, came - balance.balanceMicros)
    const netMicros = amountMicros - payment.refunded_micros
    const free = Math.min(netMicros - (used.get(id) ?? 0), netMicros - payment.offset_micros)
    return Math.max(0, Math.min(free, balance.availableMicros))
  }

  /** What of each payment of an account was used by a time, given what was paid for usage by then. */
  async usedUntil(
    accountId: string,
    until: number,
    chargedMicros: Micros,
  ): Promise<ReadonlyMap<string, Micros>> {
    return this.#used(accountId, await this.#moved(accountId, until), chargedMicros)
  }

  async #used(
    accountId: string,
    moved: readonly MoneyMoved[],
    chargedMicros: Micros,
  ): Promise<ReadonlyMap<string, Micros>> {
    const rows = await this.#records.all(
      this.#records.build
        .selectFrom('payments')
        .select(['id', 'amount_micros', 'refunded_micros'])
        .where('account_id', '=', accountId)
        .where('state', '=', 'succeeded'),
    )
    const payments = rows.map(row => ({ id: row.id, netMicros: row.amount_micros - row.refunded_micros }))
    return usedByPayment(moved, payments, chargedMicros)
  }

  /** The oldest first. */
  async #moved(accountId: string, until: number): Promise<readonly MoneyMoved[]> {
    const rows = await this.#records.all(
      this.#records.build
        .selectFrom('entries')
        .select(['exchange_id', 'kind', 'amount_micros'])
        .where('account_id', '=', accountId)
        .where(isMovement(this.#records.sql))
        .where('at', '<', until)
        .orderBy('at')
        .orderBy('exchange_id'),
    )
    return rows.map(row => ({ id: row.exchange_id, kind: row.kind, amountMicros: row.amount_micros }))
  }
}

/** A repayment is usage that was paid late, a correction usage that was paid and is not to be. */
function isUsage({ kind }: Pick<MoneyMoved, 'kind'>): boolean {
  return kind === 'repayment' || kind === 'correction'
}

/** A refund is a part of its payment. */
function isNoLot({ id, kind }: MoneyMoved): boolean {
  return isUsage({ kind }) || id.startsWith('refund:') || id.startsWith('refund-canceled:')
}

/**
 * How much of each payment is used: money is spent in the order in which it came in. What the operator took out again
 * is taken from what did not come by payments first, the oldest first, and is no usage.
 * @param chargedMicros what was paid for usage
 */
export function usedByPayment(
  moved: readonly MoneyMoved[],
  payments: readonly PaidLot[],
  chargedMicros: Micros,
): ReadonlyMap<string, Micros> {
  const nets = new Map(payments.map(({ id, netMicros }) => [id, netMicros]))
  const lots = moved.filter(one => !isNoLot(one))
  let takenOut = lots.reduce((sum, { amountMicros }) => sum + Math.max(0, -amountMicros), 0)
  let rest = Math.max(0, chargedMicros)
  const used = new Map<string, Micros>()
  for (const { id, amountMicros } of lots) {
    if (amountMicros <= 0) continue
    const paymentId = id.startsWith(paymentPrefix) ? id.slice(paymentPrefix.length) : undefined
    const taken = paymentId === undefined ? Math.min(takenOut, amountMicros) : 0
    takenOut -= taken
    const net = paymentId === undefined ? amountMicros - taken : (nets.get(paymentId) ?? amountMicros)
    const usedMicros = Math.min(net, rest)
    rest -= usedMicros
    if (paymentId !== undefined) used.set(paymentId, usedMicros)
  }
  return used
}

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
    let made = 0
    // What was paid ahead is used later, whatever receipts of payments say by then.
    if (receiptSettings(settings(), end - 1) !== undefined) {
      const charged = await chargedUntil(this.#options.records, {
        accountsOf: 'payments',
        day: dayNumber(lastDay(month)),
        end,
      })
      for (const [accountId, chargedMicros] of charged)
        made += await this.#closeAccount(accountId, { month, end, chargedMicros })
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
    return tryWrite(rows, [
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
  }
}
