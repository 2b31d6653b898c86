import type { RecordStep } from '../stores/records/records.ts'
import type { AutoTopUpRows } from './auto-top-up-rows.ts'
import type { ProviderPayment } from './payment-provider.ts'
import type { Payment } from './payment-reader.ts'
import type { PaymentRows } from './payment-rows.ts'
import type { PaymentDecision } from './payment-rules.ts'
import { registeredReceipt } from './registered-receipt.ts'

interface Settlement {
  readonly decision: Exclude<PaymentDecision, { readonly kind: 'alarm' | 'nothing' }>
  readonly found: ProviderPayment
  readonly now: number
}

/** What a decision writes: the payment, its receipt, its card and its money, in one transaction. */
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

/** The card that was saved with its payment, where its owner asked for that. */
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
