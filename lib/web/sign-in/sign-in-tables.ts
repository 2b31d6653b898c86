import type { UserTable, UserRows } from '../../accounts/user-rows.ts'
import type { Clock } from '../../platform/clock.ts'

/** The tables of an area's users and of what they sign in with. */
export interface SignInTables {
  readonly users: UserTable
  readonly sessions: UserTable
  readonly passwords: UserTable
  readonly verifications: UserTable
  readonly twoFactors: UserTable
}

/** Customers, in the account area. */
export const customerTables: SignInTables = {
  users: 'users',
  sessions: 'user_sessions',
  passwords: 'user_passwords',
  verifications: 'user_verifications',
  twoFactors: 'user_two_factors',
}

/** Operators, in their own pages. */
export const operatorTables: SignInTables = {
  users: 'operators',
  sessions: 'operator_sessions',
  passwords: 'operator_passwords',
  verifications: 'operator_verifications',
  twoFactors: 'operator_two_factors',
}

const rowsAtOnce = 500

/** Deletes sessions and letters' tokens whose time is over, a few at a time. Answers how many. */
export async function deleteExpired(users: UserRows, tables: SignInTables, clock: Clock): Promise<number> {
  const isOver = { column: 'expires_at', operator: '<', value: clock.now() } as const
  let count = 0
  for (const table of [tables.sessions, tables.verifications]) {
    for (let deleted = rowsAtOnce; deleted === rowsAtOnce; count += deleted) {
      deleted = (await users.delete(table, [isOver], rowsAtOnce)).length
    }
  }
  return count
}
