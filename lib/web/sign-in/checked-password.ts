import { AsyncLocalStorage } from 'node:async_hooks'
import { APIError } from 'better-auth/api'
import type { RowCondition, UserRow, UserRows, UserTable } from '../../accounts/user-rows.ts'

interface CheckedRow {
  readonly table: UserTable
  readonly where: readonly RowCondition[]
}

/** The rows that a call has read to check a password. */
interface Checked {
  /** The call signs in, so it also depends on the state of the second factor. */
  readonly signsIn: boolean
  password?: CheckedRow
  user?: CheckedRow
}

const checkedOfCall = new AsyncLocalStorage<Checked>()

/** The condition under which a column still has the value that was read. */
function rowAsRead(table: UserTable, row: UserRow | undefined, column: string): CheckedRow | undefined {
  const value = row?.[column]
  if (row === undefined || value === undefined) return undefined
  const id = row['id'] ?? null
  return {
    table,
    where: [
      { column: 'id', operator: '=', value: id },
      { column, operator: '=', value },
    ],
  }
}

/**
 * Runs a call that checks a password. The check takes a tenth of a second, in which the password may be replaced and
 * its sessions ended: what the call writes afterwards must be based on the hash that it has read.
 * @throws APIError INVALID_PASSWORD when the password was replaced meanwhile
 */
export function withCheckedPassword<T>(run: () => Promise<T>, { signsIn = false } = {}): Promise<T> {
  return checkedOfCall.run({ signsIn }, run)
}

/** Records a row that the current call has read, if its password check depends on it. */
export function noteRead(table: UserTable, row: UserRow | undefined): void {
  const checked = checkedOfCall.getStore()
  if (checked === undefined) return
  if (table.endsWith('_passwords')) {
    const password = rowAsRead(table, row, 'password')
    if (password !== undefined) checked.password = password
  } else if (checked.signsIn && (table === 'users' || table === 'operators')) {
    const user = rowAsRead(table, row, 'two_factor_enabled')
    if (user !== undefined) checked.user = user
  }
}

/** Conditions for a change of the password: the hash is still the one that the current call has read. */
export function asRead(table: UserTable): readonly RowCondition[] {
  const password = checkedOfCall.getStore()?.password
  return password?.table === table ? password.where : []
}

/** @throws APIError INVALID_PASSWORD */
export function refuseOvertaken(): never {
  throw new APIError('BAD_REQUEST', { code: 'INVALID_PASSWORD', message: 'the password was just replaced' })
}

/** @throws APIError INVALID_PASSWORD when a row that the call has read was changed since */
export async function requireAsRead(users: Pick<UserRows, 'count'>): Promise<void> {
  const { password, user } = checkedOfCall.getStore() ?? {}
  for (const read of [password, user]) {
    if (read !== undefined && (await users.count(read.table, read.where)) === 0) refuseOvertaken()
  }
}
