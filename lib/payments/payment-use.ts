import type { Reports } from '../ledger/reports.ts'
import type { Micros } from '../money/amount.ts'
import { isMovement } from '../stores/records/is-movement.ts'
import type { RecordReader } from '../stores/records/records.ts'
import { isUsage, usedByPayment } from './lots.ts'
import type { MoneyMoved } from './lots.ts'
import type { Payment } from './payment-reader.ts'

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
        .where(isMovement)
        .where('at', '<', until)
        .orderBy('at')
        .orderBy('exchange_id'),
    )
    return rows.map(row => ({ id: row.exchange_id, kind: row.kind, amountMicros: row.amount_micros }))
  }
}
