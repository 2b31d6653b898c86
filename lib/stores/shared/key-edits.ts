import { AccountError } from '../../accounts/accounts.ts'
import type { KeyEdit } from '../../accounts/accounts.ts'
import { formatRoubles } from '../../money/amount.ts'
import { checkKey } from './account-rules.ts'
import type { KeyRow } from './store-operation.ts'
import type { SqlStatement } from './user-tables.ts'

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

/** What the log says: the key, what it is limited to from now on, and why. */
function describeEdit(edit: KeyEdit): string {
  const { id, name, models, budgetMicros, budgetPeriod = 'total', expiresAt, ipAddresses, reason } = edit
  const list = (items: readonly string[] | null): string => items?.join(', ') ?? 'all'
  const changes = [
    ...(name === undefined ? [] : [`name ${name}`]),
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
