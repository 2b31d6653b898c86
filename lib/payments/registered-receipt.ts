import type { RecordStep } from '../stores/records/records.ts'
import type { Payment, Refund } from './payment-reader.ts'
import type { PaymentRows } from './payment-rows.ts'

type Origin =
  | { readonly kind: 'payment'; readonly payment: Payment; readonly now: number }
  | { readonly kind: 'refund'; readonly refund: Refund; readonly now: number }

/** The row of a receipt that came with its payment or refund, and is being registered; none where it had none. */
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
