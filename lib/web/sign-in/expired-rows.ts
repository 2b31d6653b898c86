import type { UserRows } from '../../accounts/user-rows.ts'
import type { Clock } from '../../platform/clock.ts'
import type { SignInTables } from './sign-in-tables.ts'

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
