import { AccountError, type AccountBlock, type Movement, type NewKey } from '../../accounts/accounts.ts'
import { keyDigest, newKeyValue } from '../../accounts/memory-key-directory.ts'
import type { Micros } from '../../ledger/ledger.ts'
import { amountMicrosMax } from '../../money/amount.ts'
import { newId } from '../../platform/new-id.ts'
import type { KeyRow } from './ledger-columns.ts'
import type { MovementOperation } from './store-operation.ts'
import type { SqlStatement } from './user-tables.ts'

const emailPattern = /^[^\s@]+@[^\s@]+\.[^\s@]+$/
const emailLengthMax = 254

/**
 * An account's address as it is stored, however it was written.
 * @throws AccountError email_invalid
 */
export function accountEmail(text: string): string {
  const email = text.trim().toLowerCase()
  if (!emailPattern.test(email) || email.length > emailLengthMax) {
    throw new AccountError('email_invalid', `"${text}" is not an email address`)
  }
  return email
}

/**
 * Money that comes in or goes out, as it is booked.
 * @throws AccountError amount_invalid
 */
export function movementOperation(
  kind: MovementOperation['kind'],
  { accountId, amountMicros, reason, idempotencyKey, source = 'operator' }: Movement,
  at: number,
): MovementOperation {
  if (!(Number.isSafeInteger(amountMicros) && amountMicros > 0 && amountMicros <= amountMicrosMax)) {
    throw new AccountError('amount_invalid', `${amountMicros} micro-roubles cannot be moved`)
  }
  const id = `${kind}:${idempotencyKey ?? newId()}`
  return { kind, id, accountId, amountMicros, reason, at, source }
}

/**
 * A new key: what is stored, and the value that is shown once.
 * @throws AccountError amount_invalid, expiry_invalid
 */
export function newKeyRow(key: NewKey, now: number): { readonly row: KeyRow; readonly value: string } {
  checkKey(key)
  const value = newKeyValue()
  const row: KeyRow = {
    id: newId(),
    account_id: key.accountId,
    digest: keyDigest(value),
    name: key.name ?? '',
    last_four: value.slice(-4),
    models: key.models === undefined ? null : JSON.stringify(key.models),
    budget_micros: key.budgetMicros ?? null,
    budget_period: key.budgetMicros === undefined ? null : (key.budgetPeriod ?? 'total'),
    expires_at: key.expiresAt ?? null,
    ip_addresses: key.ipAddresses === undefined ? null : JSON.stringify(key.ipAddresses),
    revoked_at: null,
    blocked_at: null,
    created_at: now,
  }
  return { row, value }
}

/** @throws AccountError amount_invalid, expiry_invalid */
export function checkKey({
  budgetMicros = null,
  expiresAt = null,
}: {
  readonly budgetMicros?: Micros | null
  readonly expiresAt?: number | null
}): void {
  if (budgetMicros !== null && !(Number.isSafeInteger(budgetMicros) && budgetMicros >= 0)) {
    throw new AccountError('amount_invalid', `${budgetMicros} micro-roubles cannot be a budget`)
  }
  if (expiresAt !== null && !Number.isSafeInteger(expiresAt)) {
    throw new AccountError('expiry_invalid', `${expiresAt} is not a time in milliseconds`)
  }
}

/** What an account is opened with; ids are made before the first attempt. */
interface NewAccount {
  readonly id: string
  readonly userId: string
  readonly email: string
  readonly name: string | null
}

/**
 * Opens an account for a user, who may be there already. Done again it changes nothing more. The last statement answers
 * no row where another account has the email, and then nothing is written.
 */
export function openStatements(
  { id, userId, email, name }: NewAccount,
  now: number,
): readonly SqlStatement[] {
  return [
    {
      sql: `INSERT INTO accounts (id, kind, name, email, created_at) VALUES (?, 'customer', ?, ?, ?)
        ON CONFLICT DO NOTHING`,
      values: [id, name, email, now],
    },
    {
      sql: `INSERT INTO users (id, email, name, created_at)
        SELECT ?, email, name, created_at FROM accounts WHERE id = ? ON CONFLICT DO NOTHING`,
      values: [userId, id],
    },
    {
      sql: `INSERT INTO memberships (user_id, account_id, role, created_at)
        SELECT users.id, accounts.id, 'owner', accounts.created_at
        FROM accounts JOIN users ON users.email = accounts.email WHERE accounts.id = ? ON CONFLICT DO NOTHING`,
      values: [id],
    },
    { sql: 'SELECT id FROM accounts WHERE id = ?', values: [id] },
  ]
}

/**
 * What the statements of an account answered.
 * @throws AccountError email_taken
 */
export function openedAnswer({ email }: NewAccount, rows: readonly object[]): void {
  if (rows.length === 0) throw new AccountError('email_taken', `there is an account with the email ${email}`)
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
