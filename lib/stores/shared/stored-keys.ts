import { AccountError, type KeyRecord, type KeyEdit } from '../../accounts/accounts.ts'
import { ledgerColumns, type KeyRow } from './ledger-columns.ts'
import { formatRoubles } from '../../money/amount.ts'
import { checkKey } from './account-rules.ts'
import type { SqlStatement } from './user-tables.ts'

function list(text: string | null): readonly string[] | undefined {
  return text === null ? undefined : JSON.parse(text)
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
  if (account === undefined) throw new AccountError('account_not_found', `there is no account ${accountId}`)
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
  const changes = changedColumns(edit)
  if (changes.length === 0) throw new AccountError('edit_empty', 'the edit changes nothing of the key')
  const { id, operator } = edit
  const isActive = 'id = ? AND revoked_at IS NULL'
  return [
    {
      sql: `UPDATE keys SET ${changes.map(([column]) => `${column} = ?`).join(', ')} WHERE ${isActive}`,
      values: [...changes.map(([, value]) => value), id],
    },
    {
      sql: `INSERT INTO operator_actions (id, at, operator, action, account_id, reason)
        SELECT ?, CAST(? AS BIGINT), ?, 'edit-key', account_id, ? FROM keys WHERE ${isActive} ON CONFLICT DO NOTHING`,
      values: [actionId, now, operator, describeEdit(edit), id],
    },
    { sql: 'SELECT * FROM keys WHERE id = ?', values: [id] },
  ]
}

function changedColumns(edit: KeyEdit): (readonly [column: string, value: string | number | null])[] {
  const { name, models, budgetMicros, budgetPeriod, expiresAt, ipAddresses } = edit
  const list = (items: readonly string[] | null): string | null =>
    items === null ? null : JSON.stringify(items)
  return [
    ...(name === undefined ? [] : [['name', name] as const]),
    ...(models === undefined ? [] : [['models', list(models)] as const]),
    ...(budgetMicros === undefined
      ? []
      : [
          ['budget_micros', budgetMicros] as const,
          ['budget_period', budgetMicros === null ? null : (budgetPeriod ?? 'total')] as const,
        ]),
    ...(expiresAt === undefined ? [] : [['expires_at', expiresAt] as const]),
    ...(ipAddresses === undefined ? [] : [['ip_addresses', list(ipAddresses)] as const]),
  ]
}

/** Typed text among the log's own words: as JSON where it could be taken for more of them. */
function worded(text: string): string {
  return /^[^\s"();,]+$/.test(text) && text !== 'all' ? text : JSON.stringify(text)
}

/** What the log says: the key, what it is limited to from now on, and why. */
function describeEdit(edit: KeyEdit): string {
  const { id, name, models, budgetMicros, budgetPeriod = 'total', expiresAt, ipAddresses, reason } = edit
  const list = (items: readonly string[] | null): string => items?.map(worded).join(', ') ?? 'all'
  const changes = [
    ...(name === undefined ? [] : [`name ${worded(name)}`]),
    ...(models === undefined ? [] : [`models ${list(models)}`]),
    ...(budgetMicros === undefined
      ? []
      : [budgetMicros === null ? 'no budget' : `budget ${formatRoubles(budgetMicros)} ${budgetPeriod}`]),
    ...(expiresAt === undefined
      ? []
      : [expiresAt === null ? 'no expiry' : `expires ${new Date(expiresAt).toISOString()}`]),
    ...(ipAddresses === undefined ? [] : [`addresses ${list(ipAddresses)}`]),
  ]
  return `${id}: ${changes.join('; ')} (${reason})`
}

/**
 * What the statements of an edit answered.
 * @throws AccountError key_not_found, key_revoked
 */
export function editedAnswer({ id }: KeyEdit, [row]: readonly KeyRow[]): KeyRow {
  if (row === undefined) throw new AccountError('key_not_found', `there is no key ${id}`)
  if (row.revoked_at !== null) throw new AccountError('key_revoked', `the key ${id} is revoked: make another`)
  return row
}

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
