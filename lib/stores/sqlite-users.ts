import type { UserRow, UserRows } from '../accounts/user-rows.ts'
import type { Clock } from '../clock.ts'
import type { StoreQueries } from './store-queries.ts'
import { StoreUserRows } from './store-user-rows.ts'
import { written } from './write-queue.ts'
import type { WriteQueue } from './write-queue.ts'

interface SqliteUsersOptions {
  readonly queries: Pick<StoreQueries, 'all'>
  readonly queue: WriteQueue
  readonly clock: Clock
  readonly onAccount: (accountId: string) => void
}

/** Users on SQLite: changes go to the ledger's writer, since there is no other. */
export function sqliteUsers({ queries, queue, clock, onAccount }: SqliteUsersOptions): UserRows {
  return new StoreUserRows({
    queries,
    // Whoever asked is told that it failed, and must not find later that it was done after all.
    change: async statements =>
      (await written(queue.add(['statements', statements], { isKept: false }))) as readonly UserRow[],
    clock,
    onAccount,
  })
}
