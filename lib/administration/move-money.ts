import { AccountError } from '../accounts/accounts.ts'
import { formatRoubles } from '../money/amount.ts'
import type { Micros } from '../money/amount.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { Records } from '../stores/records/records.ts'
import { actionStep } from './operator-log.ts'

/** Money that an operator books in or out. */
export interface OperatorMovement {
  /** Of the form or the command: the same one, sent twice, moves money once. */
  readonly id: string
  readonly kind: 'credit' | 'debit'
  readonly accountId: string
  readonly amountMicros: Micros
  /** The account sees it. */
  readonly reason: string
  readonly operator: string
}

/**
 * Books money in or out for an operator, in one transaction with the log of what operators did.
 * @returns the entry, and whether it was made now or by an earlier call
 * @throws AccountError account_not_found, idempotency_conflict where another movement has the id, and
 * balance_insufficient when a debit is more than is available
 */
export async function moveMoney(
  records: Records,
  operatorMovement: OperatorMovement,
  at: number,
): Promise<{ readonly entryId: string; readonly isNew: boolean }> {
  const { id, kind, accountId, amountMicros, reason, operator } = operatorMovement
  const entryId = `${kind}:${id}`
  // An entry that is older than the log has no row there by which it would be known.
  if (await isBooked(records, operatorMovement, entryId)) return { entryId, isNew: false }
  const movement = { id: entryId, accountId, amountMicros, reason, at, source: 'operator' } as const
  const what = `${formatRoubles(amountMicros)} ₽: ${reason}`
  try {
    await records.write([
      actionStep(records, { operator, action: kind, accountId, reason: what, at }, entryId),
      kind === 'credit' ? { credit: movement } : { debit: movement },
    ])
    return { entryId, isNew: true }
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    await isBooked(records, operatorMovement, entryId)
    return { entryId, isNew: false }
  }
}

/** @throws AccountError idempotency_conflict */
async function isBooked(
  records: Records,
  { kind, accountId, amountMicros }: OperatorMovement,
  entryId: string,
): Promise<boolean> {
  const query = records.build
    .selectFrom('entries')
    .select(['account_id', 'amount_micros'])
    .where('exchange_id', '=', entryId)
    .where('sequence', '=', 0)
    .where('kind', '=', kind)
  const [earlier] = await records.all(query)
  if (earlier === undefined) return false
  if (earlier.account_id === accountId && Math.abs(earlier.amount_micros) === amountMicros) return true
  throw new AccountError('idempotency_conflict', `another ${kind} was booked under this idempotency key`)
}
