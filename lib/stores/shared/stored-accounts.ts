import {
  AccountError,
  accountNotFound,
  type AccountBlock,
  type Accounts,
  type KeyEdit,
  type KeyRecord,
  type Movement,
  type NewKey,
} from '../../accounts/accounts.ts'
import type { MemoryKeyDirectory } from '../../accounts/memory-key-directory.ts'
import type { Micros } from '../../ledger/ledger.ts'
import { amountMicrosMax } from '../../money/amount.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/new-id.ts'
import type { KeyRow } from './ledger-columns.ts'
import type { MovementOperation } from './store-operation.ts'
import type { SqlStatement } from './store-queries.ts'
import {
  keyNotFound,
  keyRecord,
  madeAnswer,
  makeStatements,
  newKeyRow,
  revokeStatements,
  type MadeRow,
} from './stored-keys.ts'

const emailPattern = /^[^\s@]+@[^\s@]+\.[^\s@]+$/
const emailLengthMax = 254

/**
 * Normalizes an account's email address for the store.
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
 * Money that comes in or goes out, as an operation of the writer.
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

/** The values of a new account; its ids are generated before the first attempt. */
interface NewAccount {
  readonly id: string
  readonly userId: string
  readonly email: string
  readonly name: string | null
}

/**
 * Opens an account for a user, who may exist already. A repetition changes nothing. The last statement returns no row
 * when another account has the email, and then nothing is written.
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
 * Blocks or unblocks an account; a repetition changes nothing and adds no line to the log. The block is stored on the
 * account and on each of its keys: gates see keys only, and nodes are notified of changed keys. A blocked account gets
 * no new keys. The account's row is locked first, so that on PostgreSQL no key is created concurrently, and of several
 * concurrent blocks only one is logged. Returns no row for an unknown account.
 * @param actionId the id of the log's row, generated before the first attempt
 */
function blockStatements(block: AccountBlock, actionId: string, now: number): readonly SqlStatement[] {
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

interface StoredAccountsOptions {
  readonly keys: MemoryKeyDirectory
  readonly clock: Clock
}

/** Changes accounts and keys in a store of either kind: on disk first, then in memory. */
export abstract class StoredAccounts implements Accounts {
  readonly #keys: MemoryKeyDirectory
  readonly #clock: Clock

  constructor({ keys, clock }: StoredAccountsOptions) {
    this.#keys = keys
    this.#clock = clock
  }

  async createAccount(account: { readonly email: string; readonly name?: string }): Promise<{ id: string }> {
    const email = accountEmail(account.email)
    const opened = { id: newId(), userId: newId(), email, name: account.name ?? null }
    const rows = await this.change(openStatements(opened, this.#clock.now()))
    if (rows.length === 0)
      throw new AccountError('email_taken', `there is an account with the email ${email}`)
    return { id: opened.id }
  }

  abstract credit(credit: Movement): Promise<{ entryId: string; balanceMicros: Micros }>

  abstract debit(debit: Movement): Promise<{ entryId: string; balanceMicros: Micros }>

  async createKey(key: NewKey): Promise<{ id: string; key: string }> {
    const { row, value } = newKeyRow(key, this.#clock.now())
    const { activeKeysMax } = key
    madeAnswer(row, activeKeysMax, await this.change<MadeRow>(makeStatements(row, activeKeysMax)))
    this.#keys.put(row.digest, keyRecord(row))
    await this.waitForNodes('id', row.id)
    return { id: row.id, key: value }
  }

  async revokeKey(id: string, operator?: string): Promise<void> {
    const statements = revokeStatements({ id, operator, actionId: newId() }, this.#clock.now())
    const [row] = await this.change<{ readonly revoked_at: number }>(statements)
    if (row === undefined) throw keyNotFound(id)
    this.#keys.revoke(id, row.revoked_at)
    await this.waitForNodes('id', id)
  }

  abstract editKey(edit: KeyEdit): Promise<KeyRecord>

  async setBlocked(block: AccountBlock): Promise<{ readonly blockedAt: number | null }> {
    const { accountId } = block
    const statements = blockStatements(block, newId(), this.#clock.now())
    const [row] = await this.change<Pick<KeyRow, 'blocked_at'>>(statements)
    if (row === undefined) throw accountNotFound(accountId)
    this.#keys.block(accountId, row.blocked_at)
    await this.waitForNodes('account_id', accountId)
    return { blockedAt: row.blocked_at }
  }

  /** Runs statements as one transaction; resolves with the rows of the last one when they are on disk. */
  protected abstract change<Row extends object>(statements: readonly SqlStatement[]): Promise<readonly Row[]>

  /** Resolves when every node that has keys in memory knows of a change of some. */
  protected async waitForNodes(_column: 'id' | 'account_id', _value: string): Promise<void> {}
}
