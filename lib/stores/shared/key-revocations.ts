import { AccountError } from '../../accounts/accounts.ts'
import type { SqlStatement } from './user-tables.ts'

/** A key with the time of its end; the last statement of a revocation answers it. */
export interface RevokedRow {
  readonly revoked_at: number
}

interface Revocation {
  readonly id: string
  /** Whose act it is, for their log; undefined: a customer's own. */
  readonly operator: string | undefined
  /** Of the row of the log, made before the first attempt. */
  readonly actionId: string
}

/**
 * Revokes a key, with a line in the operators' log where one of them does it; a key that was revoked stays as it is. Its
 * row is locked first, so that of several at once one is logged. No row is answered for a key that there is not.
 */
export function revokeStatements(
  { id, operator, actionId }: Revocation,
  now: number,
): readonly SqlStatement[] {
  const isActive = 'id = ? AND revoked_at IS NULL'
  const logged: readonly SqlStatement[] =
    operator === undefined
      ? []
      : [
          { sql: 'UPDATE keys SET revoked_at = revoked_at WHERE id = ?', values: [id] },
          {
            sql: `INSERT INTO operator_actions (id, at, operator, action, account_id, reason)
              SELECT ?, CAST(? AS BIGINT), ?, 'revoke-key', account_id, id FROM keys WHERE ${isActive}`,
            values: [actionId, now, operator, id],
          },
        ]
  return [
    ...logged,
    { sql: `UPDATE keys SET revoked_at = ? WHERE ${isActive}`, values: [now, id] },
    { sql: 'SELECT revoked_at FROM keys WHERE id = ?', values: [id] },
  ]
}

/**
 * When a key was revoked, which is the first time.
 * @throws AccountError key_not_found
 */
export function revokedAnswer(id: string, [row]: readonly RevokedRow[]): number {
  if (row === undefined) throw new AccountError('key_not_found', `there is no key ${id}`)
  return row.revoked_at
}
