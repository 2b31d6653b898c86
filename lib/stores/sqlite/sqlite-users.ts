import type { AccountSettings } from '../../accounts/account-settings.ts'
import type { UserRow, UserRows } from '../../accounts/user-rows.ts'
import type { Clock } from '../../platform/clock.ts'
import { StoreAccountSettings } from '../shared/store-account-settings.ts'
import type { StoreQueries } from '../shared/store-queries.ts'
import { StoreUserRows } from '../shared/store-user-rows.ts'
import type { SqlStatement } from '../shared/user-tables.ts'
import { written } from '../shared/write-batch.ts'
import type { WriteQueue } from '../shared/write-queue.ts'

interface SqliteUsersOptions {
  readonly queries: Pick<StoreQueries, 'all'>
  readonly queue: WriteQueue
  readonly clock: Clock
  readonly onAccount: (accountId: string) => void
}

/** Users and settings on SQLite: changes go to the ledger's writer, since there is no other. */
export function sqliteUsers({ queries, queue, clock, onAccount }: SqliteUsersOptions): {
  readonly users: UserRows
  readonly settings: AccountSettings
} {
  // Whoever asked is told that it failed, and must not find later that it was done after all.
  const change = async (statements: readonly SqlStatement[]): Promise<readonly UserRow[]> =>
    (await written(queue.add(['statements', statements], { isKept: false }))) as readonly UserRow[]
  return {
    users: new StoreUserRows({ queries, change, clock, onAccount }),
    settings: new StoreAccountSettings({ queries, change, clock }),
  }
}
