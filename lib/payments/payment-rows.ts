import { actionSteps } from '../administration/operator-log.ts'
import { newId } from '../platform/new-id.ts'
import type { NewRow, RecordStep, Records } from '../stores/records/records.ts'
import { PaymentReader, type Payment, type Receipt, type Refund } from './payment-reader.ts'
import type { AutoTopUpRows } from './auto-top-up-rows.ts'
import type { ProviderPayment } from './payment-provider.ts'
import type { PaymentDecision } from './payment-rules.ts'

/** A new receipt. One with a request is sent by itself; others are part of their payment or refund. */
type NewReceipt = Pick<
  Receipt,
  'kind' | 'account_id' | 'payment_id' | 'refund_id' | 'state' | 'amount_micros'
> &
  Partial<Pick<Receipt, 'month' | 'request'>> & { readonly now: number }

/** Reads and changes payments; each change requires the row to be in the state that was read. */
export class PaymentRows extends PaymentReader {
  readonly #records: Records
  readonly #build: Records['build']

  constructor(records: Records) {
    super(records)
    this.#records = records
    this.#build = records.build
  }

  /** @throws RecordConflictError when a row differs from what a step expects */
  async write(steps: readonly RecordStep[]): Promise<void> {
    await this.#records.write(steps)
  }

  addPayment(row: NewRow<'payments'>): RecordStep {
    return { write: this.#build.insertInto('payments').values(row) }
  }

  changePayment({ id, state }: Payment, change: Partial<NewRow<'payments'>>): RecordStep {
    const own = this.#build.updateTable('payments').set(change).where('id', '=', id)
    return { write: own.where('state', '=', state), rows: 1 }
  }

  /** Sets the time of the next poll; of several nodes only one succeeds and polls now. */
  postponePayment({ id, next_poll_at }: Payment, until: number): RecordStep {
    const write = this.#build
      .updateTable('payments')
      .set(row => ({ next_poll_at: until, polls: row('polls', '+', 1) }))
      .where('id', '=', id)
      .where('next_poll_at', '=', next_poll_at)
    return { write, rows: 1 }
  }

  /** Adds to, or subtracts from, the refunded amount of a payment, within its amount. */
  addRefunded(paymentId: string, amountMicros: number): RecordStep {
    const write = this.#build
      .updateTable('payments')
      .set(row => ({ refunded_micros: row('refunded_micros', '+', amountMicros) }))
      .where('id', '=', paymentId)
      .where('state', '=', 'succeeded')
      // An amount in a receipt of use cannot be refunded.
      .where(row =>
        row(
          row('refunded_micros', '+', amountMicros),
          '<=',
          row('amount_micros', '-', row.ref('offset_micros')),
        ),
      )
    return { write, rows: 1 }
  }

  /**
   * Adds to the amount of a payment that is in receipts of use, at most up to what is neither refunded nor in one.
   */
  addOffset({ id, offset_micros }: Pick<Payment, 'id' | 'offset_micros'>, amountMicros: number): RecordStep {
    const write = this.#build
      .updateTable('payments')
      .set({ offset_micros: offset_micros + amountMicros })
      .where('id', '=', id)
      .where('offset_micros', '=', offset_micros)
      .where(row =>
        row(row('refunded_micros', '+', offset_micros + amountMicros), '<=', row.ref('amount_micros')),
      )
    return { write, rows: 1 }
  }

  addRefund(row: NewRow<'refunds'>): RecordStep {
    return { write: this.#build.insertInto('refunds').values(row) }
  }

  addAction(action: Parameters<typeof actionSteps>[1]): RecordStep[] {
    return actionSteps(this.#records, action)
  }

  changeRefund({ id, state }: Refund, change: Partial<NewRow<'refunds'>>): RecordStep {
    const own = this.#build.updateTable('refunds').set(change).where('id', '=', id)
    return { write: own.where('state', '=', state), rows: 1 }
  }

  postponeRefund({ id, next_poll_at }: Refund, until: number): RecordStep {
    const write = this.#build
      .updateTable('refunds')
      .set(row => ({ next_poll_at: until, polls: row('polls', '+', 1) }))
      .where('id', '=', id)
      .where('next_poll_at', '=', next_poll_at)
    return { write, rows: 1 }
  }

  /** A receipt that the provider has not confirmed yet. */
  addReceipt({ now, ...receipt }: NewReceipt): RecordStep {
    const write = this.#build.insertInto('receipts').values({
      id: newId(),
      created_at: now,
      next_poll_at: now,
      ...receipt,
      idempotence_key: receipt.request === undefined ? null : newId(),
    })
    return { write }
  }

  changeReceipt({ id, next_poll_at }: Receipt, change: Partial<NewRow<'receipts'>>): RecordStep {
    const own = this.#build.updateTable('receipts').set(change).where('id', '=', id)
    return { write: own.where('next_poll_at', '=', next_poll_at), rows: 1 }
  }

  /** As for the others; the age of its key counts from the first time it is sent. */
  postponeReceipt(receipt: Receipt, until: number, now: number): RecordStep {
    return this.changeReceipt(receipt, { next_poll_at: until, requested_at: receipt.requested_at ?? now })
  }
}

type Origin =
  | { readonly kind: 'payment'; readonly payment: Payment; readonly now: number }
  | { readonly kind: 'refund'; readonly refund: Refund; readonly now: number }

/**
 * The row of the receipt sent with a payment or refund, while it is being registered; none where there was no
 * receipt.
 */
export function registeredReceipt(rows: PaymentRows, origin: Origin): readonly RecordStep[] {
  const { kind, now } = origin
  const of = kind === 'payment' ? origin.payment : origin.refund
  if ((JSON.parse(of.request) as { receipt?: object }).receipt === undefined) return []
  return [
    rows.addReceipt({
      kind,
      account_id: of.account_id,
      payment_id: kind === 'payment' ? of.id : origin.refund.payment_id,
      refund_id: kind === 'payment' ? null : of.id,
      state: 'pending',
      amount_micros: of.amount_micros,
      now,
    }),
  ]
}

interface Settlement {
  readonly decision: Exclude<PaymentDecision, { readonly kind: 'alarm' | 'nothing' }>
  readonly found: ProviderPayment
  readonly now: number
}

/** The steps of a decision: payment, receipt, card and money, in one transaction. */
export function settlementSteps(
  { rows, auto }: { readonly rows: PaymentRows; readonly auto: AutoTopUpRows },
  payment: Payment,
  { decision, found, now }: Settlement,
): readonly RecordStep[] {
  const provider_id = found.id
  if (decision.kind === 'pend') {
    const confirmation_url = found.confirmationUrl ?? null
    return [rows.changePayment(payment, { state: 'pending', provider_id, confirmation_url })]
  }
  if (decision.kind === 'cancel') {
    const { failure } = decision
    const ended = { state: 'canceled', failure, ended_at: now, next_poll_at: null } as const
    return [rows.changePayment(payment, { ...ended, provider_id }), ...auto.ended(payment, now, failure)]
  }
  const { id, account_id: accountId, amount_micros: amountMicros } = payment
  const succeeded = rows.changePayment(payment, {
    state: 'succeeded',
    provider_id,
    method_title: found.methodTitle ?? null,
    failure: null,
    difference: null,
    credited_at: now,
    ended_at: now,
    next_poll_at: null,
  })
  const credit = { id: `payment:${id}`, accountId, amountMicros, reason: `payment ${id}`, at: now }
  return [
    succeeded,
    ...registeredReceipt(rows, { kind: 'payment', payment, now }),
    ...savedCard(auto, payment, found, now),
    ...auto.ended(payment, now),
    { credit: { ...credit, source: 'payment' } },
  ]
}

/** The card saved with its payment, when its owner requested that. */
function savedCard(
  auto: AutoTopUpRows,
  { id, account_id, provider, request }: Payment,
  { savedMethodId, methodTitle }: ProviderPayment,
  now: number,
): readonly RecordStep[] {
  const { save_payment_method: isWanted = false } = JSON.parse(request) as { save_payment_method?: boolean }
  if (!isWanted || savedMethodId === undefined) return []
  return [
    auto.saveCard({
      id,
      account_id,
      provider,
      method_id: savedMethodId,
      title: methodTitle ?? '',
      saved_at: now,
    }),
  ]
}
