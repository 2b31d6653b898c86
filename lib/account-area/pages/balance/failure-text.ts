import type { Texts } from '../../texts/texts.ts'

/** Why a payment failed and what to try, in the customer's words; `failure` is `party/reason`. */
export function failureText({ payment }: Texts, failure: string | null): string {
  const { reasons } = payment
  const [party, reason = 'other'] = (failure ?? '').split('/')
  if (party === 'merchant') return reasons.refused
  return Object.hasOwn(reasons, reason) ? reasons[reason as keyof typeof reasons] : reasons.other
}
