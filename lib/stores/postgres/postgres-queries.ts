import { isStoreFailure, transaction, withoutTimeouts } from './postgres-connection.ts'
import type { PostgresPool, PostgresQueries, TimedQuery } from './postgres-connection.ts'
import { StoreError } from '../shared/store-error.ts'
import type { QueryValue, StoreQueries } from '../shared/store-queries.ts'
import { errorWords } from '../../platform/log.ts'

/** `?`, which SQLite takes as it is, as PostgreSQL's `$1`. */
export function numbered(sql: string): string {
  let count = 0
  return sql.replaceAll('?', () => `$${(count += 1)}`)
}

async function readRows<Row extends object>(
  queries: PostgresQueries,
  sql: string,
  values: readonly QueryValue[],
  timeoutMs?: number,
): Promise<readonly Row[]> {
  try {
    const query: TimedQuery = {
      text: numbered(sql),
      values: [...values],
      ...(timeoutMs === undefined ? {} : { query_timeout: timeoutMs }),
    }
    return (await queries.query<Row & Record<string, unknown>>(query)).rows
  } catch (cause) {
    if (!isStoreFailure(cause)) throw cause
    throw new StoreError(`the database cannot be read: ${errorWords(cause)}`, {
      cause,
    })
  }
}

/** The longest that a timer takes: three weeks. */
const longMs = 2 ** 31 - 1

/** Reads a database through a pool, which stays open. */
export function postgresQueries(pool: PostgresPool): StoreQueries {
  const over = (queries: PostgresQueries, timeoutMs?: number): StoreQueries => ({
    all: (sql, values = []) => readRows(queries, sql, values, timeoutMs),
    withoutHurry: read =>
      transaction(pool, 'BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY', async own => {
        await own.query(withoutTimeouts)
        return read(over(own, longMs))
      }),
    close: () => Promise.resolve(),
  })
  return over(pool)
}
