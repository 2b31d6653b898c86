import { isStoreFailure, transaction, withoutTimeouts } from './postgres-connection.ts'
import type { PostgresPool, PostgresQueries } from './postgres-connection.ts'
import { StoreError } from './store-error.ts'
import type { QueryValue, StoreQueries } from './store-queries.ts'

/** `?`, which SQLite takes as it is, as PostgreSQL's `$1`. */
function numbered(sql: string): string {
  let count = 0
  return sql.replaceAll('?', () => `$${(count += 1)}`)
}

async function readRows<Row extends object>(
  queries: PostgresQueries,
  sql: string,
  values: readonly QueryValue[],
): Promise<readonly Row[]> {
  try {
    return (await queries.query<Row & Record<string, unknown>>(numbered(sql), [...values])).rows
  } catch (cause) {
    if (!isStoreFailure(cause)) throw cause
    throw new StoreError(`the database cannot be read: ${cause instanceof Error ? cause.message : ''}`, {
      cause,
    })
  }
}

/** Reads a database through a pool, which stays open. */
export function postgresQueries(pool: PostgresPool): StoreQueries {
  const over = (queries: PostgresQueries): StoreQueries => ({
    all: (sql, values = []) => readRows(queries, sql, values),
    snapshot: read =>
      transaction(pool, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', async own => {
        await own.query(withoutTimeouts)
        return read(over(own))
      }),
    close: () => Promise.resolve(),
  })
  return over(pool)
}
