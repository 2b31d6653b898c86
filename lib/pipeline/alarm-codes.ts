/** Flags of charges that an operator should check: each is about a provider. */
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
 * The codes of all alarms. Each is counted from 0: a rule that detects an increase misses a series that starts at 1.
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

/** The name of an alarm. */
export type AlarmCode = (typeof alarmCodes)[number]

/** Reports something that an operator should check. */
export type RaiseAlarm = (code: AlarmCode, details: object) => void
