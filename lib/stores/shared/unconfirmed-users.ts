import type { SqlStatement } from './user-tables.ts'

const mark = `'unconfirmed-' || users.id || '@deleted.invalid'`

// Who has consents has signed up by themselves; after the end of an account they stay, as proof.
const isUnconfirmed = `users.email_verified = 0 AND users.created_at < ?
  AND users.email <> 'deleted-' || users.id || '@deleted.invalid'
  AND EXISTS (SELECT 1 FROM user_consents WHERE user_consents.user_id = users.id)
  AND NOT EXISTS (
    SELECT 1 FROM memberships JOIN accounts ON accounts.id = memberships.account_id
    WHERE memberships.user_id = users.id AND (accounts.balance_micros <> 0
      OR EXISTS (SELECT 1 FROM keys WHERE keys.account_id = accounts.id)))`

/** Who signed up before a time, has not confirmed the e-mail, and whose account has never been used. */
export function selectUnconfirmed(madeBefore: number, limit: number): SqlStatement {
  return { sql: `SELECT id FROM users WHERE ${isUnconfirmed} LIMIT ?`, values: [madeBefore, limit] }
}

/**
 * Removes such a user, and what is personal about the account. The first statement marks the user, so that who
 * confirms in the same moment is either kept whole or gone whole; consents may be removed of who is marked only.
 */
export function removeUnconfirmed(userId: string, madeBefore: number): readonly SqlStatement[] {
  const marked = `(SELECT id FROM users WHERE id = ? AND email = ${mark})`
  const values = [userId]
  return [
    {
      sql: `UPDATE users SET email = ${mark} WHERE id = ? AND ${isUnconfirmed}`,
      values: [userId, madeBefore],
    },
    {
      sql: `UPDATE accounts SET email = 'deleted-' || id || '@deleted.invalid', name = NULL
        WHERE id IN (SELECT account_id FROM memberships WHERE role = 'owner' AND user_id IN ${marked})`,
      values,
    },
    { sql: `DELETE FROM user_verifications WHERE value IN ${marked}`, values },
    ...['memberships', 'user_sessions', 'user_passwords', 'user_two_factors', 'user_consents'].map(table => ({
      sql: `DELETE FROM ${table} WHERE user_id IN ${marked}`,
      values,
    })),
    { sql: `DELETE FROM users WHERE id IN ${marked} RETURNING id`, values },
  ]
}
