import { postgresSchema } from './postgres-schema.ts'
import {
  transaction,
  isStoreFailure,
  withoutTimeouts,
  cannotConnect,
  postgresPool,
} from './postgres-connection.ts'
import type { PostgresPool, PostgresQueries, TimedQuery } from './postgres-connection.ts'
import { StoreError, type QueryValue, type StoreQueries, type SqlStatement } from '../shared/store-queries.ts'
import { missingSteps, newestVersion } from '../shared/store-schema.ts'
import { errorWords } from '../../platform/log.ts'

/** Any number, as long as all nodes use the same: "gtwy". */
const migrationLock = 0x67747779

async function schemaVersion(queries: PostgresQueries): Promise<number> {
  const { rows } = await queries.query<{ version: number }>('SELECT version FROM gateway_schema')
  return rows[0]?.version ?? 0
}

/**
 * Upgrades the schema. Of several nodes that start at the same time one does it and the others wait.
 * @returns whether it created the store
 * @throws StoreError when a newer program wrote the store, or it is too old
 */
export function migratePostgres(pool: PostgresPool): Promise<boolean> {
  return transaction(pool, 'BEGIN', async queries => {
    await queries.query('SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0')
    await queries.query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
    await queries.query('CREATE TABLE IF NOT EXISTS gateway_schema (version INTEGER NOT NULL)')
    const version = await schemaVersion(queries)
    for (const { sql } of missingSteps(postgresSchema, version, 'the database')) await queries.query(sql)
    const newest = [newestVersion(postgresSchema)]
    if (version === 0) await queries.query('INSERT INTO gateway_schema VALUES ($1)', newest)
    else await queries.query('UPDATE gateway_schema SET version = $1', newest)
    return version === 0
  })
}

/**
 * The steps that a store still lacks; undefined when there is no store.
 * @throws StoreError when a newer program wrote the store, or it is too old
 */
async function stepsOf(pool: PostgresPool): Promise<ReturnType<typeof missingSteps> | undefined> {
  const { rows } = await pool.query<{ found: string | null }>("SELECT to_regclass('gateway_schema') AS found")
  if (typeof rows[0]?.found !== 'string') return undefined
  return missingSteps(postgresSchema, await schemaVersion(pool), 'the database')
}

/**
 * Checks that this program can read the store.
 * @throws StoreError when there is none, or it is of another release
 */
async function checkPostgresVersion(pool: PostgresPool): Promise<void> {
  const steps = await stepsOf(pool)
  if (steps === undefined) {
    throw new StoreError(
      'there is no store in this database yet: "gateway serve" makes it, as does "account create"',
    )
  }
  if (steps.length > 0) {
    throw new StoreError(
      'the database is of an older release: back it up, then start the gateway once, which brings it up to date',
    )
  }
}

/** Replaces `?`, which SQLite accepts unchanged, with PostgreSQL's `$1`, `$2` and so on. */
function numbered(sql: string): string {
  let count = 0
  return sql.replaceAll('?', () => `$${(count += 1)}`)
}

/** Runs statements that both stores understand, one after the other; returns the rows of the last one. */
export async function runAll<Row extends object>(
  queries: PostgresQueries,
  statements: readonly SqlStatement[],
): Promise<readonly Row[]> {
  let rows: readonly Row[] = []
  for (const { sql, values } of statements) rows = (await queries.query<Row>(numbered(sql), [...values])).rows
  return rows
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
    throw new StoreError(`the database cannot be read: ${errorWords(cause)}`, { cause })
  }
}

/** The longest delay that a timer accepts: more than three weeks. */
const longMs = 2 ** 31 - 1

/** Reads a database through a pool, which stays open. */
export function postgresQueries(pool: PostgresPool): StoreQueries {
  const over = (queries: PostgresQueries, timeoutMs?: number): StoreQueries => ({
    kind: 'postgres',
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

async function connectedPool(
  url: string,
  check: (pool: PostgresPool) => Promise<unknown>,
): Promise<PostgresPool> {
  // A connection that is lost while idle is replaced when one is needed.
  const pool = postgresPool(url, () => undefined)
  try {
    await check(pool)
  } catch (error) {
    await pool.end()
    throw error instanceof StoreError ? error : cannotConnect(url, error)
  }
  return pool
}

/**
 * Checks that a start could open a database, or create a store in it. Changes nothing.
 * @throws StoreError when it cannot be reached, or has a store that a newer program wrote or that is too old
 */
export async function checkPostgresStore(url: string): Promise<void> {
  const pool = await connectedPool(url, stepsOf)
  await pool.end()
}

/**
 * Connects to a PostgreSQL store for reading.
 * @throws StoreError when it cannot be reached, or is of another release
 */
export async function openPostgresQueries(url: string): Promise<StoreQueries> {
  const pool = await connectedPool(url, checkPostgresVersion)
  return { ...postgresQueries(pool), close: () => pool.end() }
}
