import type { Movement } from '../../../payments/movements.ts'
import type { Texts } from '../../texts/texts.ts'

/** What moved a balance, in the user's words. */
export function movementName({ balance }: Texts, { id, kind }: Pick<Movement, 'id' | 'kind'>): string {
  const { kinds } = balance
  if (id.startsWith('payment:')) return kinds.payment
  if (id.startsWith('refund:')) return kinds.refund
  if (id.startsWith('refund-canceled:')) return kinds.refundCanceled
  if (id.startsWith('starting:')) return kinds.starting
  if (kind === 'repayment') return kinds.repayment
  return kind === 'debit' ? kinds.debit : kinds.credit
}
