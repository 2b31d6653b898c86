/** Flags of charges that an operator should look at: each is about a provider. */
export const flagAlarmCodes = [
  'ambiguous',
  'answer_unreadable',
  'balance_exhausted',
  'drain_limited',
  'drain_refused',
  'estimate_rough',
  'meter_unpriced',
  'model_mismatch',
  'model_unpriced',
  'overrun',
  'refusal_unbilled',
  'tier_unpriced',
  'usage_as_text',
  'usage_decreased',
  'usage_inconsistent',
  'usage_invalid',
  'usage_missing',
  'usage_partial',
  'usage_unpriced',
  'usage_unreadable',
  'usage_zero',
] as const

/**
 * The codes of all alarms, so that each is counted from 0 on: a rule that looks for an increase sees none in a series that
 * begins at 1.
 */
export const alarmCodes = [
  'accept_failed',
  'auto_top_up_failed',
  'body_file_failed',
  'credential_restored',
  'credential_suspended',
  'egress_down',
  'egress_up',
  'job_unanswered',
  'payment_differs',
  'payment_refused',
  'provider_credentials',
  'rate_counts_lost',
  'rate_failed',
  'rate_jump',
  'rate_missing',
  'receipt_failed',
  'reconciliation_differs',
  'refund_differs',
  'refund_refused',
  'refund_unknown',
  'store_available',
  'store_unavailable',
  'token_counter_failed',
  'unmetered_session',
  'usage_repeated',
  'usage_unmatched',
  'vector_store_deleted',
  'vector_store_unpaid',
  ...flagAlarmCodes,
] as const

/** What an operator should look at, by name. */
export type AlarmCode = (typeof alarmCodes)[number]

/** Says that an operator should look at something. */
export type RaiseAlarm = (code: AlarmCode, details: object) => void
