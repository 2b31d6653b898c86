import type { AccountSettings } from '../../accounts/account-settings.ts'
import type { UserRow, UserRows } from '../../accounts/user-rows.ts'
import type { Clock } from '../../platform/clock.ts'
import { LedgerUnavailableError } from '../../ledger/ledger.ts'
import { isStoreFailure, transaction } from './postgres-connection.ts'
import type { PostgresPool } from './postgres-connection.ts'
import { numbered, postgresQueries } from './postgres-queries.ts'
import { StoreAccountSettings } from '../shared/store-account-settings.ts'
import { StoreUserRows } from '../shared/store-user-rows.ts'
import type { SqlStatement } from '../shared/user-tables.ts'
import { errorWords } from '../../platform/error-words.ts'

async function change(pool: PostgresPool, statements: readonly SqlStatement[]): Promise<readonly UserRow[]> {
  try {
    return await transaction(pool, 'BEGIN', async queries => {
      let rows: readonly UserRow[] = []
      for (const { sql, values } of statements) {
        rows = (await queries.query<Record<string, UserRow[string]>>(numbered(sql), [...values])).rows
      }
      return rows
    })
  } catch (cause) {
    if (!isStoreFailure(cause)) throw cause
    const reason = errorWords(cause)
    throw new LedgerUnavailableError(`the store cannot be written: ${reason}`, { cause })
  }
}

/** Users and settings on PostgreSQL: each change is a transaction. */
export function postgresUsers(
  pool: PostgresPool,
  clock: Clock,
): { readonly users: UserRows; readonly settings: AccountSettings } {
  const options = {
    queries: postgresQueries(pool),
    change: (statements: readonly SqlStatement[]) => change(pool, statements),
    clock,
  }
  return { users: new StoreUserRows(options), settings: new StoreAccountSettings(options) }
}
