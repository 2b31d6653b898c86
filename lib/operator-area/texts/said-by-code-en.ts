import { alarmSentences } from '../../pipeline/alarm-sentences.ts'
import type { saidByCode as russian } from './said-by-code-ru.ts'

const refusals: (typeof russian)['refusals'] = {
  account_blocked: 'The account is blocked.',
  account_deleted: 'The account was deleted before.',
  account_not_found: 'There is no such account.',
  alarm_changed: 'Somebody else has taken or closed this alarm already.',
  alarm_not_found: 'There is no such alarm.',
  amount_invalid: 'Such an amount cannot be moved.',
  balance_insufficient: 'So much cannot be taken out.',
  charge_not_found: 'This account was charged nothing for such a request.',
  correction_conflict: 'Somebody else has just corrected this charge. Look at it again.',
  correction_refused:
    'The new amount must differ from the current one, and be no more than what was charged.',
  deletion_refused: 'The account cannot be deleted: settle what is in the way first.',
  edit_empty: 'Nothing has changed.',
  email_invalid: 'This does not look like an email address.',
  email_taken: 'There is an account with this email already.',
  expiry_invalid: 'There is no such time.',
  idempotency_conflict: 'This form has moved another amount already. Open the page again.',
  key_limit: 'The account has as many keys as it may have.',
  key_not_found: 'There is no such key.',
  key_revoked: 'The key is revoked. Make another.',
  operator_changed: 'Somebody else has just changed this operator. Try again.',
  operator_needed: 'This is the only owner. Make another one first.',
  operator_not_found: 'There is no such operator.',
  payment_amount: 'A payment is whole kopecks, within the bounds of the configuration.',
  payment_method: 'This way to pay is not in the configuration.',
  payment_not_found: 'There is no such paid payment.',
  payments_off: 'No payment provider is set up.',
  refund_amount: 'A refund is whole kopecks, and no more than what of the payment is not spent.',
  refund_late:
    'The payment is older than three years, and its provider sends nothing back. Pay by bank transfer and book a debit.',
  refund_not_found: 'There is no such refund.',
}

const refusalAmounts: (typeof russian)['refusalAmounts'] = {
  available: 'Available',
  worst: 'Open requests may cost up to',
  unspent: 'Not spent',
  charged: 'Charged',
  current: 'Now',
}

/** What is said of refusals and alarms. */
export const saidByCode = { refusals, refusalAmounts, alarmSentences }
