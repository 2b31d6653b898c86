import { AccountError } from '../../accounts/accounts.ts'
import type { AccountBlock } from '../../accounts/accounts.ts'
import type { SqlStatement } from './user-tables.ts'
import type { TableWords } from './table-words.ts'

/** What operators did, append-only. */
export function operatorActionTables({ integer, options, appendOnly }: TableWords): string {
  return `
CREATE TABLE operator_actions (
  id TEXT PRIMARY KEY,
  at ${integer} NOT NULL,
  operator TEXT NOT NULL,
  action TEXT NOT NULL,
  account_id TEXT NOT NULL,
  reason TEXT NOT NULL
)${options};
CREATE INDEX operator_actions_by_account ON operator_actions (account_id, at);
${appendOnly('operator_actions')}
`
}

/** An account with the time of its block; the last statement of a block answers it. */
export interface BlockedRow {
  readonly blocked_at: number | null
}

/**
 * Blocks an account, or ends that; done again it changes nothing, and the log has no line of it. A block stands on the
 * account and on each of its keys: gates see keys alone, and nodes hear of keys that change. A blocked account gets no
 * keys. The account's row is locked first, so that on PostgreSQL no key is made beside it, and of several blocks at once
 * one is logged. No row is answered for an account that there is not.
 * @param actionId of the row of the log, made before the first attempt
 */
export function blockStatements(block: AccountBlock, actionId: string, now: number): readonly SqlStatement[] {
  const { accountId, isBlocked, reason, operator } = block
  const blockedAt = isBlocked ? now : null
  const isOtherwise = isBlocked ? 'blocked_at IS NULL' : 'blocked_at IS NOT NULL'
  const isCustomer = `id = ? AND kind = 'customer'`
  return [
    { sql: `UPDATE accounts SET blocked_at = blocked_at WHERE ${isCustomer}`, values: [accountId] },
    {
      sql: `INSERT INTO operator_actions (id, at, operator, action, account_id, reason)
        SELECT ?, CAST(? AS BIGINT), ?, ?, id, ? FROM accounts WHERE ${isCustomer} AND ${isOtherwise}`,
      values: [actionId, now, operator, isBlocked ? 'block' : 'unblock', reason, accountId],
    },
    {
      sql: `UPDATE accounts SET blocked_at = ? WHERE ${isCustomer} AND ${isOtherwise}`,
      values: [blockedAt, accountId],
    },
    {
      sql: `UPDATE keys SET blocked_at = ? WHERE account_id = ? AND ${isOtherwise}`,
      values: [blockedAt, accountId],
    },
    { sql: `SELECT blocked_at FROM accounts WHERE ${isCustomer}`, values: [accountId] },
  ]
}

/**
 * What the statements of a block answered.
 * @throws AccountError account_not_found
 */
export function blockedAnswer(
  { accountId }: AccountBlock,
  [row]: readonly BlockedRow[],
): { readonly blockedAt: number | null } {
  if (row === undefined) throw new AccountError('account_not_found', `there is no account ${accountId}`)
  return { blockedAt: row.blocked_at }
}
