/** Which of its details say what an alarm is about. None: there is one of it. */
const subjects: Readonly<Record<string, readonly string[]>> = {
  auto_top_up_failed: ['account'],
  balance_exhausted: ['account'],
  credential_suspended: ['credentialName'],
  egress_down: ['provider', 'egress'],
  job_unanswered: ['provider', 'kind'],
  overrun: ['account'],
  payment_differs: ['payment'],
  payment_refused: ['payment'],
  receipt_failed: ['payment'],
  refund_differs: ['refund'],
  refund_refused: ['refund'],
  refund_unknown: ['payment'],
  unmetered_session: ['key'],
  vector_store_deleted: ['provider', 'id'],
  vector_store_unpaid: ['provider', 'id'],
}

/** Those of charges are about what answered. */
const subjectOfCharge = ['provider', 'model'] as const
const lengthMax = 200

/** What an alarm is about, so that what is raised again and again is one: `openai/gpt-5`. */
export function alarmSubject(code: string, details: Readonly<Record<string, unknown>>): string {
  return (subjects[code] ?? subjectOfCharge)
    .map(name => details[name])
    .filter(value => typeof value === 'string')
    .join('/')
    .slice(0, lengthMax)
}
