import { newId } from '../new-id.ts'
import type { RecordStep } from '../stores/records/records.ts'
import type { Payment, PaymentRows, Refund } from './payment-rows.ts'

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
      id: newId(),
      kind,
      account_id: of.account_id,
      payment_id: kind === 'payment' ? of.id : origin.refund.payment_id,
      refund_id: kind === 'payment' ? null : of.id,
      month: null,
      provider_id: null,
      state: 'pending',
      amount_micros: of.amount_micros,
      request: null,
      idempotence_key: null,
      requested_at: null,
      document_number: null,
      storage_number: null,
      attribute: null,
      registered_at: null,
      created_at: now,
      next_poll_at: now,
    }),
  ]
}
