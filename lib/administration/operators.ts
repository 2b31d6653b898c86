import { randomBytes } from 'node:crypto'
import { newId } from '../platform/new-id.ts'
import type { OperatorRole, OperatorRow } from '../stores/records/operator-tables.ts'
import { RecordConflictError, type RecordReader, type Records } from '../stores/records/records.ts'
import { actionStep } from './operator-log.ts'
import { AccountError } from '../accounts/accounts.ts'

/** How long a link to set a password is valid. */
const linkMs = 24 * 60 * 60_000

interface NewOperator {
  readonly email: string
  readonly role: OperatorRole
  readonly name?: string | undefined
  /** The operator who adds this one, for the log. */
  readonly by: string
}

/** The token of a link by which an operator sets a password. */
interface InvitedOperator {
  readonly id: string
  readonly token: string
}

/** All operators, by email. */
export function listOperators(records: RecordReader): Promise<readonly OperatorRow[]> {
  return records.all(records.build.selectFrom('operators').selectAll().orderBy('email'))
}

/** An operator by id; undefined when there is none. */
export async function findOperator(records: RecordReader, id: string): Promise<OperatorRow | undefined> {
  return (await listOperators(records)).find(one => one.id === id)
}

/**
 * Creates an operator, or gives an existing one another role and a new link, which ends the existing sessions.
 * @throws AccountError operator_needed when that would leave no operator with all permissions
 */
export async function addOperator(
  records: Records,
  { email, role, name, by }: NewOperator,
  now: number,
): Promise<InvitedOperator> {
  const { build } = records
  const all = await listOperators(records)
  const known = all.find(one => one.email === email)
  if (known !== undefined && role !== 'owner') requireOtherOwner(all, known)
  const id = known?.id ?? newId()
  const token = randomBytes(24).toString('hex')
  const link = {
    id: newId(),
    identifier: `reset-password:${token}`,
    value: id,
    expires_at: now + linkMs,
    created_at: now,
    updated_at: now,
  }
  const row = {
    id,
    email,
    name: name ?? null,
    role,
    created_at: now,
    email_verified: 1,
    two_factor_enabled: 0,
  }
  try {
    await records.write([
      known === undefined
        ? { write: build.insertInto('operators').values(row), rows: 1 }
        : { write: build.updateTable('operators').set({ role }).where('id', '=', id), rows: 1 },
      { write: build.deleteFrom('operator_sessions').where('user_id', '=', id) },
      { write: build.deleteFrom('operator_verifications').where('value', '=', id) },
      { write: build.insertInto('operator_verifications').values(link) },
      actionStep(records, {
        operator: by,
        action: 'add-operator',
        accountId: '',
        reason: `${email}: ${role}`,
        at: now,
      }),
    ])
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    throw new AccountError('operator_changed', `${email} was just changed by somebody else: try again`)
  }
  return { id, token }
}

/**
 * Removes an operator at once, with their sign-in. Their actions stay in the log.
 * @throws AccountError operator_not_found, and operator_needed for the last one with all permissions
 */
export async function removeOperator(
  records: Records,
  { email, by }: Pick<NewOperator, 'email' | 'by'>,
  now: number,
): Promise<void> {
  const { build } = records
  const all = await listOperators(records)
  const known = all.find(one => one.email === email)
  if (known === undefined) throw new AccountError('operator_not_found', `there is no operator ${email}`)
  requireOtherOwner(all, known)
  const { id } = known
  await records.write([
    { write: build.deleteFrom('operator_sessions').where('user_id', '=', id) },
    { write: build.deleteFrom('operator_verifications').where('value', '=', id) },
    { write: build.deleteFrom('operator_passwords').where('user_id', '=', id) },
    { write: build.deleteFrom('operator_two_factors').where('user_id', '=', id) },
    { write: build.deleteFrom('operators').where('id', '=', id) },
    actionStep(records, { operator: by, action: 'remove-operator', accountId: '', reason: email, at: now }),
  ])
}

function requireOtherOwner(all: readonly OperatorRow[], known: OperatorRow): void {
  if (known.role !== 'owner' || all.length === 1) return
  if (all.some(one => one.role === 'owner' && one.id !== known.id)) return
  throw new AccountError('operator_needed', `${known.email} is the only owner: make another one first`)
}
