import type { Movement } from '../../../payments/movements.ts'
import type { Texts } from '../../texts/texts.ts'

/** Movements whose reason is of the books and tells its reader nothing more. */
const ownReason = /^(?:payment|starting|refund-canceled|transfer):/

/** Why it was booked, where a person has said so. */
export function movementReason({
  id,
  kind,
  reason,
}: Pick<Movement, 'id' | 'kind' | 'reason'>): string | undefined {
  return reason === null || kind === 'repayment' || ownReason.test(id) ? undefined : reason
}

/** What moved a balance, in the user's words. */
export function movementName({ balance }: Texts, { id, kind }: Pick<Movement, 'id' | 'kind'>): string {
  const { kinds } = balance
  if (id.startsWith('payment:')) return kinds.payment
  if (id.startsWith('refund:')) return kinds.refund
  if (id.startsWith('refund-canceled:')) return kinds.refundCanceled
  if (id.startsWith('starting:')) return kinds.starting
  if (id.startsWith('transfer:')) return kind === 'debit' ? kinds.transferUndone : kinds.transfer
  if (kind === 'repayment') return kinds.repayment
  return kind === 'debit' ? kinds.debit : kinds.credit
}
