import type { AlarmCode } from './alarm-codes.ts'

/** The text of each alarm. */
export const alarmSentences: Readonly<Record<AlarmCode, string>> = {
  accept_failed: 'connections cannot be accepted: the process may have too many open files',
  ambiguous: 'a request was sent and its response did not come: its provider may have worked on it',
  answer_unreadable: 'a response could not be read, and its charge is estimated',
  auto_top_up_failed: 'an automatic top-up could not be started',
  balance_exhausted: 'a response was cut because the account had no more money',
  body_file_failed: 'a long request could not be written to its file',
  credential_restored: 'a provider accepts our key again',
  credential_suspended: 'a provider refuses our key or its billing',
  drain_limited: 'a response whose client had left was too long to be read to its usage',
  drain_refused: 'too many responses whose clients had left were being read: this one was not',
  egress_down: 'an egress to a provider does not work',
  egress_up: 'an egress to a provider works again',
  estimate_rough: 'a charge is a rough estimate',
  job_unanswered: 'a provider does not report how a batch or a video ended',
  meter_unpriced: 'usage was charged by the price of other usage, or by none, since it has none of its own',
  model_mismatch: 'the response came from another model than the one requested',
  model_unpriced: 'a model that has no price was used',
  overrun: 'usage cost more than the account had: the house paid',
  payment_differs: 'a payment is not what its provider says; nothing was credited',
  payment_refused: 'the payment provider refused a payment',
  provider_credentials: 'the payment provider refuses the shop: check payments.yookassa.shopId and secretKey',
  rate_counts_lost: 'rate limits cannot be counted in the database of the nodes',
  rate_failed: 'the exchange rate of the Bank of Russia could not be read; the last one stays in force',
  rate_jump: 'the exchange rate jumped and is held: gateway prices rate --accept accepts it',
  rate_missing: 'no exchange rate is known: models priced by it cannot be sold',
  receipt_failed: 'a fiscal receipt failed; it is made again',
  reconciliation_differs: 'payments differ from those of their provider',
  refund_differs: 'a refund is not what its provider says; nothing was changed',
  refund_refused: 'the payment provider refused a refund; the money is on the balance again',
  refund_unknown:
    'the provider returned money without a refund requested here: a chargeback, or a manual refund',
  refusal_unbilled: 'a refused request was not charged although its provider may bill it',
  store_available: 'the store can be written again',
  store_unavailable: 'the store cannot be written: paid requests are refused',
  tier_unpriced: 'a tier that has no factor was charged as the standard one',
  token_counter_failed: 'tokens cannot be counted: charges without usage are rough estimates',
  unmetered_session: 'a session runs that cannot be charged',
  usage_as_text: 'usage was reported as text instead of numbers',
  usage_decreased: 'reported usage fell during a response',
  usage_inconsistent: 'reported usage does not add up',
  usage_invalid: 'reported usage contains invalid numbers',
  usage_missing: 'a provider reported no usage, and the charge is estimated',
  usage_partial: 'a provider reported part of the usage',
  usage_repeated: 'a provider reported the usage of one response twice',
  usage_unmatched: 'usage was reported for a response without a request',
  usage_unpriced: 'usage was reported that has no price',
  usage_unreadable: 'reported usage could not be read',
  usage_zero: 'a provider reported that a response with content used nothing',
  vector_store_deleted:
    'a vector store was deleted at its provider: its account had no money for its next day',
  vector_store_unpaid:
    'an account has no money for the next day of its vector store; it is deleted when its hold is used up',
}

/** The text of an alarm; undefined for a code of another release. */
export function alarmSentence(code: string): string | undefined {
  return Object.hasOwn(alarmSentences, code) ? alarmSentences[code as AlarmCode] : undefined
}
