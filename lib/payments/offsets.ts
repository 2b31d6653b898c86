import type { Reports } from '../ledger/reports.ts'
import type { Micros } from '../money/amount.ts'
import { tryWrite, type RecordReader } from '../stores/records/records.ts'
import type { Payment } from './payment-reader.ts'
import { dayEnd, dayNumber, lastDay, moscowDay, shiftMonth } from '../ledger/moscow-days.ts'
import { microsPerKopeck } from '../money/kopecks.ts'
import { chargedUntil, isMovement } from '../stores/records/ledger-entries.ts'
import type { PaymentContext } from './payments.ts'
import { isPrepayment, receiptBody, receiptSettings } from './payment-request.ts'

/** A change of a balance other than a charge, in chronological order. */
export interface MoneyMoved {
  /** `payment:<id>`, `refund:<id>`, `credit:<key>`. */
  readonly id: string
  readonly kind: string
  readonly amountMicros: Micros
}

/** A payment less what was refunded of it. */
interface PaidLot {
  readonly id: string
  readonly netMicros: Micros
}

const paymentPrefix = 'payment:'

/** Computes from the ledger how much of each payment is used. */
export class PaymentUse {
  readonly #records: RecordReader
  readonly #reports: Pick<Reports, 'balance'>

  constructor(records: RecordReader, reports: Pick<Reports, 'balance'>) {
    this.#records = records
    this.#reports = reports
  }

  /** How much of a payment can be refunded now: neither used, nor held, nor in a receipt of use. */
  async unspent(payment: Payment): Promise<Micros> {
    const { id, account_id: accountId, amount_micros: amountMicros } = payment
    // The balance is read first: spending after that only lowers the result.
    const balance = await this.#reports.balance(accountId)
    if (balance === undefined) return 0
    const moved = await this.#moved(accountId, Number.MAX_SAFE_INTEGER)
    const came = moved.reduce((sum, one) => (isUsage(one) ? sum : sum + one.amountMicros), 0)
    const used = await this.#used(accountId, moved, came - balance.balanceMicros)
    const netMicros = amountMicros - payment.refunded_micros
    const free = Math.min(netMicros - (used.get(id) ?? 0), netMicros - payment.offset_micros)
    return Math.max(0, Math.min(free, balance.availableMicros))
  }

  /** How much of each payment of an account was used by a time, given the usage paid for by then. */
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

/** A repayment is usage that was paid late; a correction is usage whose charge was reduced. */
function isUsage({ kind }: Pick<MoneyMoved, 'kind'>): boolean {
  return kind === 'repayment' || kind === 'correction'
}

/** A refund belongs to its payment and is no separate lot. */
function isNoLot({ id, kind }: MoneyMoved): boolean {
  return isUsage({ kind }) || id.startsWith('refund:') || id.startsWith('refund-canceled:')
}

/**
 * How much of each payment is used: money is spent in the order it came in. Operators' debits are no usage; they
 * reduce credits other than payments, the oldest first.
 * @param chargedMicros the amount paid for usage
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

/** Charges at the end of a month are written somewhat later. */
const settledMs = 3 * 3_600_000

interface OffsetsOptions extends Pick<PaymentContext, 'rows' | 'clock' | 'log' | 'settings'> {
  readonly records: RecordReader
  readonly use: PaymentUse
}

/**
 * Receipts for the use of prepayments: one for each payment and month, for what was spent of it by the month's end
 * and is in no receipt yet. This avoids drift in kopecks, and the next month includes a month in which the gateway
 * did not run.
 */
export class Offsets {
  readonly #options: OffsetsOptions
  /** The last month that this process has completed. */
  #done: string | undefined

  constructor(options: OffsetsOptions) {
    this.#options = options
  }

  /** Makes the receipts of the last complete month and returns their number. A second run makes none. */
  async closeLastMonth(): Promise<number> {
    const { clock, settings, log } = this.#options
    const month = shiftMonth(moscowDay(clock.now() - settledMs).slice(0, 7), -1)
    if (month === this.#done) return 0
    const end = dayEnd(lastDay(month))
    let made = 0
    // A prepayment is used later, whatever receipts of payments say by then.
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

  /** False when another node made it, or a refund was booked meanwhile: the next month's receipt includes it then. */
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
    // A payment without a receipt, or with one of full payment, needs none when it is used.
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
