import type { Micros } from '../money/amount.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { Records } from '../stores/records/records.ts'
import { actionStep } from './operator-log.ts'

interface OperatorMovement {
  /** Made with the form: the same form, sent twice, moves money once. */
  readonly formId: string
  readonly kind: 'credit' | 'debit'
  readonly accountId: string
  readonly amountMicros: Micros
  /** The account sees it. */
  readonly reason: string
  readonly operator: string
}

/**
 * Books money in or out for an operator, in one transaction with the log of what operators did. Answers false when this
 * form was taken before.
 * @throws AccountError account_not_found, and balance_insufficient when a debit is more than is available
 */
export async function moveMoney(
  records: Records,
  { formId, kind, accountId, amountMicros, reason, operator }: OperatorMovement,
  now: number,
): Promise<boolean> {
  const movement = {
    id: `${kind}:${formId}`,
    accountId,
    amountMicros,
    reason,
    at: now,
    source: 'operator',
  } as const
  try {
    await records.write([
      actionStep(records, { operator, action: kind, accountId, reason, at: now }, formId),
      kind === 'credit' ? { credit: movement } : { debit: movement },
    ])
    return true
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    return false
  }
}
