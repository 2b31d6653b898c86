import type { Payment } from '../../../payments/payment-reader.ts'
import type { Texts } from '../../texts/texts.ts'

/** A card by its last digits, in the user's words; otherwise as the provider names it. */
export function cardLabel({ payment }: Texts, title: string): string {
  const digits = /\*(\d{4})$/.exec(title)?.[1]
  return digits === undefined ? title : payment.card(digits)
}

/** What a payment was paid with; undefined while that is not known. */
export function methodLabel(
  texts: Texts,
  { method, method_title: title }: Pick<Payment, 'method' | 'method_title'>,
): string | undefined {
  if (method === 'sbp') return texts.payment.sbp
  return title === null ? undefined : cardLabel(texts, title)
}

/** Why a payment failed and what to try, in the customer's words; `failure` is `party/reason`. */
export function failureText({ payment }: Texts, failure: string | null): string {
  const { reasons } = payment
  const [party, reason = 'other'] = (failure ?? '').split('/')
  if (party === 'merchant') return reasons.refused
  return Object.hasOwn(reasons, reason) ? reasons[reason as keyof typeof reasons] : reasons.other
}
