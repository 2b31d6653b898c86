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

/** A key as it stands in the store, as the gates see it. */
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

/** The account of a new key, and whether the key is there; the last statement of its making answers it. */
export interface MadeRow {
  readonly blocked_at: number | null
  readonly made: number
}

/**
 * Makes a key, unless its account is blocked or has so many that are not revoked. The account's row is locked first, so
 * that none is made beside a block or another key. Done again it changes nothing more.
 */
export function makeStatements(row: KeyRow, activeKeysMax: number | undefined): readonly SqlStatement[] {
  const columns = Object.keys(row) as (keyof KeyRow)[]
  // Without it PostgreSQL takes what is selected for text.
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
 * What the statements of a new key answered.
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
 * Changes a key and writes that into the operators' log; a key that was revoked stays as it is. The last statement
 * answers the key. Done again it changes nothing more.
 * @param actionId of the row of the log, made before the first attempt
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

/** Typed text among the log's own words: as JSON where it could be taken for more of them. */
function worded(text: string): string {
  return /^[^\s"();,]+$/.test(text) && text !== 'all' ? text : JSON.stringify(text)
}

/** What an edit changes of a row, and how the log says it. */
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
 * What the statements of an edit answered.
 * @throws AccountError key_not_found, key_revoked
 */
export function editedAnswer({ id }: KeyEdit, [row]: readonly KeyRow[]): KeyRow {
  if (row === undefined) throw keyNotFound(id)
  if (row.revoked_at !== null) throw new AccountError('key_revoked', `the key ${id} is revoked: make another`)
  return row
}

/** Nothing can be done with a key that there is not. */
export function keyNotFound(id: string): AccountError {
  return new AccountError('key_not_found', `there is no key ${id}`)
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
