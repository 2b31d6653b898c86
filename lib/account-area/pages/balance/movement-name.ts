import type { Movement } from '../../../payments/movements.ts'
import type { Texts } from '../../texts/texts.ts'

type Named = Pick<Movement, 'id' | 'kind' | 'reason'>

/** Movements whose reason is of the books and tells its reader nothing more. */
const ownReason = /^(?:payment|starting|refund-canceled|transfer):/

/** The payment that a movement is the credit of. */
export function paymentIdOf({ id }: Pick<Movement, 'id'>): string | undefined {
  return /^payment:([0-9a-z]{26})$/.exec(id)?.[1]
}

/** Why it was booked, where a person has said so. */
export function movementReason({ id, kind, reason }: Named): string | undefined {
  return reason === null || kind === 'repayment' || ownReason.test(id) ? undefined : reason
}

/** What moved a balance, in the user's words. */
export function movementName({ balance }: Texts, { id, kind }: Named, isAutomatic: boolean): string {
  const { kinds } = balance
  if (id.startsWith('payment:')) return isAutomatic ? kinds.automatic : kinds.payment
  if (id.startsWith('refund:')) return kinds.refund
  if (id.startsWith('refund-canceled:')) return kinds.refundCanceled
  if (id.startsWith('starting:')) return kinds.starting
  if (id.startsWith('transfer:')) return kind === 'debit' ? kinds.transferUndone : kinds.transfer
  if (kind === 'repayment') return kinds.repayment
  if (kind === 'correction') return kinds.correction
  return kind === 'debit' ? kinds.debit : kinds.credit
}
