import { AccountError, accountNotFound, idempotencyConflict } from '../accounts/accounts.ts'
import type { Consent } from '../accounts/user-rows.ts'
import { formatRoubles, type Micros } from '../money/amount.ts'
import { RecordConflictError, tryWrite, type Records, type RecordReader } from '../stores/records/records.ts'
import { actionStep } from './operator-log.ts'
import type { AccountNoteRow } from '../stores/records/customer-tables.ts'

/** Money that an operator books in or out. */
interface OperatorMovement {
  /** The id of the form or the command: sent twice, it moves money once. */
  readonly id: string
  readonly kind: 'credit' | 'debit'
  readonly accountId: string
  readonly amountMicros: Micros
  /** The account sees it. */
  readonly reason: string
  readonly operator: string
}

/**
 * Books money in or out for an operator, in one transaction with the operators' log.
 * @returns the entry, and whether this call or an earlier one booked it
 * @throws AccountError amount_invalid for nothing, account_not_found, idempotency_conflict where another movement has
 * the id, and balance_insufficient when a debit is more than is available
 */
export async function moveMoney(
  records: Records,
  operatorMovement: OperatorMovement,
  at: number,
): Promise<{ readonly entryId: string; readonly isNew: boolean }> {
  const { id, kind, accountId, amountMicros, reason, operator } = operatorMovement
  if (amountMicros <= 0)
    throw new AccountError('amount_invalid', `a ${kind} of 0 roubles moves nothing: name more than 0`)
  const entryId = `${kind}:${id}`
  // An entry that is older than the log has no row there that would identify it.
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
  throw idempotencyConflict(kind)
}

interface EndedSessions {
  readonly accountId: string
  readonly reason: string
  readonly operator: string
}

/**
 * Ends all sessions of an account's users, and logs that.
 * @throws AccountError account_not_found
 */
export async function endSessions(
  records: Records,
  { accountId, reason, operator }: EndedSessions,
  at: number,
): Promise<void> {
  const { build } = records
  const [account] = await records.all(
    build.selectFrom('accounts').select('id').where('id', '=', accountId).where('kind', '=', 'customer'),
  )
  if (account === undefined) throw accountNotFound(accountId)
  const members = build.selectFrom('memberships').select('user_id').where('account_id', '=', accountId)
  await records.write([
    { write: build.deleteFrom('user_sessions').where('user_id', 'in', members) },
    actionStep(records, { operator, action: 'end-sessions', accountId, reason, at }),
  ])
}

interface NewNote {
  /** Generated with the form: the same form, sent twice, makes one note. */
  readonly id: string
  readonly accountId: string
  readonly operator: string
  readonly note: string
}

/** Adds a note about an account, for operators only. Resolves with false when this form was already processed. */
export async function addNote(
  records: Records,
  { accountId, ...note }: NewNote,
  now: number,
): Promise<boolean> {
  const row = { ...note, account_id: accountId, at: now }
  return tryWrite(records, [{ write: records.build.insertInto('account_notes').values(row), rows: 1 }])
}

/** The notes about an account, newest first. */
export function readNotes(
  records: RecordReader,
  accountId: string,
  limit: number,
): Promise<readonly AccountNoteRow[]> {
  return records.all(
    records.build
      .selectFrom('account_notes')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit),
  )
}

/** The consents of an account's users, newest first. */
export function readConsents(
  records: RecordReader,
  accountId: string,
): Promise<readonly (Consent & { readonly email: string })[]> {
  return records.all(
    records.build
      .selectFrom('user_consents')
      .innerJoin('users', 'users.id', 'user_consents.user_id')
      .innerJoin('memberships', 'memberships.user_id', 'user_consents.user_id')
      .selectAll('user_consents')
      .select('users.email')
      .where('memberships.account_id', '=', accountId)
      .orderBy('user_consents.at', 'desc')
      .orderBy('user_consents.kind'),
  )
}
