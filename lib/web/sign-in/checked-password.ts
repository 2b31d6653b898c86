import { AsyncLocalStorage } from 'node:async_hooks'
import { APIError } from 'better-auth/api'
import type { RowCondition, UserRow, UserRows, UserTable } from '../../accounts/user-rows.ts'

interface CheckedRow {
  readonly table: UserTable
  readonly where: readonly RowCondition[]
}

/** What a call has read to check a password by. */
interface Checked {
  /** Whether it also depends on there being no second factor. */
  readonly signsIn: boolean
  password?: CheckedRow
  user?: CheckedRow
}

const checkedOfCall = new AsyncLocalStorage<Checked>()

/** Its hash, under which a password stands; and whether a code is asked for beside it. */
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
 * Runs a call that checks a password. Checking takes long enough for the password to be replaced meanwhile, with all
 * sessions ended that it has opened: what the call then writes must rest on what it has read.
 * @throws APIError INVALID_PASSWORD when it does so no more
 */
export function withCheckedPassword<T>(run: () => Promise<T>, { signsIn = false } = {}): Promise<T> {
  return checkedOfCall.run({ signsIn }, run)
}

/** Notes what the call that runs has read, as far as it checks passwords by it. */
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

/** The password as the call that runs has read it, for a change of it. */
export function asRead(table: UserTable): readonly RowCondition[] {
  const password = checkedOfCall.getStore()?.password
  return password?.table === table ? password.where : []
}

/** @throws APIError INVALID_PASSWORD */
export function refuseOvertaken(): never {
  throw new APIError('BAD_REQUEST', { code: 'INVALID_PASSWORD', message: 'the password was just replaced' })
}

/** @throws APIError INVALID_PASSWORD when what the call has read does not stand there any more */
export async function requireAsRead(users: Pick<UserRows, 'count'>): Promise<void> {
  const { password, user } = checkedOfCall.getStore() ?? {}
  for (const read of [password, user]) {
    if (read !== undefined && (await users.count(read.table, read.where)) === 0) refuseOvertaken()
  }
}
