import { postgresSchema } from './postgres-schema.ts'
import { transaction } from './postgres-connection.ts'
import type { PostgresPool, PostgresQueries } from './postgres-connection.ts'
import { StoreError } from '../shared/store-error.ts'
import { missingSteps, newestVersion } from '../shared/store-schema.ts'

/** Any number, as long as all nodes use the same: "gtwy". */
const migrationLock = 0x67747779

async function schemaVersion(queries: PostgresQueries): Promise<number> {
  const { rows } = await queries.query<{ version: number }>('SELECT version FROM gateway_schema')
  return rows[0]?.version ?? 0
}

/**
 * Brings the schema up to date. Of several nodes that start at once one does it and the others wait.
 * @returns whether the store was made just now
 * @throws StoreError when it is of a newer program, or of one too old
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
 * Makes sure that a store can be read by this program.
 * @throws StoreError when there is none, or it is of another release
 */
export async function checkPostgresVersion(pool: PostgresPool): Promise<void> {
  const { rows } = await pool.query<{ found: string | null }>("SELECT to_regclass('gateway_schema') AS found")
  if (typeof rows[0]?.found !== 'string') {
    throw new StoreError(
      'there is no store in this database yet: "gateway serve" makes it, as does "account create"',
    )
  }
  const version = await schemaVersion(pool)
  if (missingSteps(postgresSchema, version, 'the database').length > 0) {
    throw new StoreError(
      'the database is of an older release: start the gateway once, which brings it up to date',
    )
  }
}
