import {
  AccountError,
  accountNotFound,
  type KeyEdit,
  type KeyRecord,
  type NewKey,
} from '../../accounts/accounts.ts'
import { keyDigest, newKeyValue } from '../../accounts/memory-key-directory.ts'
import { formatRoubles } from '../../money/amount.ts'
import { newId } from '../../platform/new-id.ts'
import { ledgerColumns, type KeyRow } from './ledger-columns.ts'
import type { SqlStatement } from './store-queries.ts'

function list(text: string | null): readonly string[] | undefined {
  return text === null ? undefined : JSON.parse(text)
}

function listText(items: readonly string[] | null | undefined): string | null {
  return items === null || items === undefined ? null : JSON.stringify(items)
}

/** A stored key as the gates see it. */
export function keyRecord(row: KeyRow): KeyRecord {
  const models = list(row.models)
  const ipAddresses = list(row.ip_addresses)
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    lastFour: row.last_four,
    createdAt: row.created_at,
    ...(models === undefined ? {} : { models }),
    ...(row.budget_micros === null ? {} : { budgetMicros: row.budget_micros }),
    ...(row.budget_period === null ? {} : { budgetPeriod: row.budget_period }),
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(ipAddresses === undefined ? {} : { ipAddresses }),
    ...(row.blocked_at === null ? {} : { blockedAt: row.blocked_at }),
    ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at }),
  }
}

/**
 * A new key: the row to store, and the value that is shown once.
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
    models: listText(key.models),
    budget_micros: key.budgetMicros ?? null,
    budget_period: key.budgetMicros === undefined ? null : (key.budgetPeriod ?? 'total'),
    expires_at: key.expiresAt ?? null,
    ip_addresses: listText(key.ipAddresses),
    revoked_at: null,
    blocked_at: null,
    created_at: now,
  }
  return { row, value }
}

/** @throws AccountError amount_invalid, expiry_invalid */
function checkKey({
  budgetMicros = null,
  expiresAt = null,
}: Pick<KeyEdit, 'budgetMicros' | 'expiresAt'>): void {
  if (budgetMicros !== null && !(Number.isSafeInteger(budgetMicros) && budgetMicros >= 0)) {
    throw new AccountError('amount_invalid', `${budgetMicros} micro-roubles cannot be a budget`)
  }
  if (expiresAt !== null && !Number.isSafeInteger(expiresAt)) {
    throw new AccountError('expiry_invalid', `${expiresAt} is not a time in milliseconds`)
  }
}

/** The state of a new key's account, and whether the key exists; the last of `makeStatements` returns it. */
export interface MadeRow {
  readonly blocked_at: number | null
  readonly made: number
}

/**
 * Creates a key, unless its account is blocked or already has `activeKeysMax` keys that are not revoked. The account's
 * row is locked first, so that no key is created concurrently with a block or another key. A repetition changes
 * nothing.
 */
export function makeStatements(row: KeyRow, activeKeysMax: number | undefined): readonly SqlStatement[] {
  const columns = Object.keys(row) as (keyof KeyRow)[]
  // Without the cast PostgreSQL infers text for a selected parameter.
  const places = columns.map(name =>
    ledgerColumns.keys[name].startsWith('BIGINT') ? 'CAST(? AS BIGINT)' : '?',
  )
  const { account_id: accountId } = row
  const isRoom = `AND ? > (SELECT count(*) FROM
    (SELECT 1 FROM keys WHERE account_id = accounts.id AND revoked_at IS NULL LIMIT ?) AS active)`
  const isCustomer = `id = ? AND kind = 'customer'`
  return [
    { sql: `UPDATE accounts SET blocked_at = blocked_at WHERE ${isCustomer}`, values: [accountId] },
    {
      sql: `INSERT INTO keys (${columns.join(', ')})
        SELECT ${places.join(', ')} FROM accounts WHERE ${isCustomer} AND blocked_at IS NULL
        ${activeKeysMax === undefined ? '' : isRoom} ON CONFLICT DO NOTHING`,
      values: [
        ...Object.values(row),
        accountId,
        ...(activeKeysMax === undefined ? [] : [activeKeysMax, activeKeysMax]),
      ],
    },
    {
      sql: `SELECT blocked_at, (SELECT count(*) FROM keys WHERE id = ?) AS made FROM accounts WHERE ${isCustomer}`,
      values: [row.id, accountId],
    },
  ]
}

/**
 * Checks the result of `makeStatements`.
 * @throws AccountError account_not_found, account_blocked, key_limit
 */
export function madeAnswer(
  { account_id: accountId }: KeyRow,
  activeKeysMax: number | undefined,
  [account]: readonly MadeRow[],
): void {
  if (account === undefined) throw accountNotFound(accountId)
  if (account.blocked_at !== null) {
    const message = `the account ${accountId} is blocked: gateway account unblock ends that`
    throw new AccountError('account_blocked', message)
  }
  if (account.made === 0) {
    throw new AccountError('key_limit', `the account has ${activeKeysMax} keys already`)
  }
}

/**
 * Changes a key and logs that for the operators; a revoked key stays as it is. The last statement returns the key. A
 * repetition changes nothing.
 * @param actionId the id of the log's row, generated before the first attempt
 * @throws AccountError amount_invalid, expiry_invalid, edit_empty
 */
export function editStatements(edit: KeyEdit, actionId: string, now: number): readonly SqlStatement[] {
  checkKey(edit)
  const changes = changesOf(edit)
  if (changes.length === 0) throw new AccountError('edit_empty', 'the edit changes nothing of the key')
  const { id, operator, reason } = edit
  const set = Object.fromEntries(changes.flatMap(change => Object.entries(change.set)))
  const logged = `${id}: ${changes.map(change => change.words).join('; ')} (${reason})`
  const isActive = 'id = ? AND revoked_at IS NULL'
  return [
    {
      sql: `UPDATE keys SET ${Object.keys(set)
        .map(column => `${column} = ?`)
        .join(', ')} WHERE ${isActive}`,
      values: [...Object.values(set), id],
    },
    {
      sql: `INSERT INTO operator_actions (id, at, operator, action, account_id, reason)
        SELECT ?, CAST(? AS BIGINT), ?, 'edit-key', account_id, ? FROM keys WHERE ${isActive} ON CONFLICT DO NOTHING`,
      values: [actionId, now, operator, logged, id],
    },
    { sql: 'SELECT * FROM keys WHERE id = ?', values: [id] },
  ]
}

/** Typed text for the log: as JSON where it could be mistaken for the log's own words. */
function worded(text: string): string {
  return /^[^\s"();,]+$/.test(text) && text !== 'all' ? text : JSON.stringify(text)
}

/** The columns that an edit changes, and the log's words for it. */
interface Change {
  readonly set: Partial<KeyRow>
  readonly words: string
}

function changesOf(edit: KeyEdit): readonly Change[] {
  const { name, models, budgetMicros, budgetPeriod = 'total', expiresAt, ipAddresses } = edit
  const list = (items: readonly string[] | null): string => items?.map(worded).join(', ') ?? 'all'
  const changes: Change[] = []
  if (name !== undefined) changes.push({ set: { name }, words: `name ${worded(name)}` })
  if (models !== undefined)
    changes.push({ set: { models: listText(models) }, words: `models ${list(models)}` })
  if (budgetMicros !== undefined) {
    const budget_period = budgetMicros === null ? null : budgetPeriod
    const words =
      budgetMicros === null ? 'no budget' : `budget ${formatRoubles(budgetMicros)} ${budgetPeriod}`
    changes.push({ set: { budget_micros: budgetMicros, budget_period }, words })
  }
  if (expiresAt !== undefined) {
    const words = expiresAt === null ? 'no expiry' : `expires ${new Date(expiresAt).toISOString()}`
    changes.push({ set: { expires_at: expiresAt }, words })
  }
  if (ipAddresses !== undefined)
    changes.push({ set: { ip_addresses: listText(ipAddresses) }, words: `addresses ${list(ipAddresses)}` })
  return changes
}

/**
 * Returns the key from the result of `editStatements`.
 * @throws AccountError key_not_found, key_revoked
 */
export function editedAnswer({ id }: KeyEdit, [row]: readonly KeyRow[]): KeyRow {
  if (row === undefined) throw keyNotFound(id)
  if (row.revoked_at !== null) throw new AccountError('key_revoked', `the key ${id} is revoked: make another`)
  return row
}

/** The error for an unknown key. */
export function keyNotFound(id: string): AccountError {
  return new AccountError('key_not_found', `there is no key ${id}`)
}

interface Revocation {
  readonly id: string
  /** The operator who revokes the key, for the log; undefined when a customer does. */
  readonly operator: string | undefined
  /** The id of the log's row, generated before the first attempt. */
  readonly actionId: string
}

/**
 * Revokes a key, and logs it when an operator does so; a revoked key stays as it is. The key's row is locked first, so
 * that of several concurrent revocations only one is logged. Returns no row for an unknown key.
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
