import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Clock } from '../clock.ts'
import type { Reports } from '../ledger/reports.ts'
import { openForReading, sqliteErrorCode } from './sqlite-database.ts'
import type { SqliteDatabase, SqliteStatement } from './sqlite-database.ts'
import { checkVersion } from './sqlite-prepare.ts'
import { migrations } from './sqlite-schema.ts'
import { StoreError } from './store-error.ts'
import type { QueryValue, StoreQueries } from './store-queries.ts'
import { StoreReports } from './store-reports.ts'

/**
 * Opens a file that must be a store of this release.
 * @throws StoreError when it is missing, damaged or of another release
 */
export function openSqliteFile(file: string): SqliteDatabase {
  if (!existsSync(file)) {
    throw new StoreError(
      `there is no store at ${file} yet: "gateway serve" makes it, as does "account create"`,
    )
  }
  let database: SqliteDatabase | undefined
  try {
    database = openForReading(file)
    if (checkVersion(database, file) < migrations.length) {
      throw new StoreError(
        `${file} is of an older release: start the gateway once, which brings it up to date`,
      )
    }
    return database
  } catch (error) {
    database?.close()
    const code = sqliteErrorCode(error)
    if (code === undefined) throw error
    throw new StoreError(`${file} cannot be read (${code})`, { cause: error })
  }
}

/** Reads one file, on the thread of whoever asks: each query must be short. */
class SqliteQueries implements StoreQueries {
  readonly #file: string
  readonly #database: SqliteDatabase
  readonly #statements = new Map<string, SqliteStatement>()

  constructor(file: string) {
    this.#file = file
    this.#database = openSqliteFile(file)
  }

  async all<Row extends object>(sql: string, values: readonly QueryValue[] = []): Promise<readonly Row[]> {
    let statement = this.#statements.get(sql)
    if (statement === undefined) this.#statements.set(sql, (statement = this.#database.prepare(sql)))
    return statement.all(...values) as Row[]
  }

  async snapshot<T>(read: (queries: StoreQueries) => Promise<T>): Promise<T> {
    // A transaction holds for a whole connection, so this one is nobody else's.
    const own = new SqliteQueries(this.#file)
    try {
      own.#database.exec('BEGIN')
      return await read(own)
    } finally {
      await own.close()
    }
  }

  async close(): Promise<void> {
    this.#database.close()
  }
}

/**
 * Opens a file of this release for reading.
 * @throws StoreError when it is missing, damaged or of another release
 */
export function openSqliteQueries(file: string): StoreQueries {
  return new SqliteQueries(file)
}

/** What a file can have wrong below its rows. */
async function verifyFile(queries: StoreQueries): Promise<readonly string[]> {
  const findings = await queries.all<{ readonly integrity_check: string }>('PRAGMA integrity_check')
  const breaches = findings
    .filter(finding => finding.integrity_check !== 'ok')
    .map(finding => `the file is damaged: ${finding.integrity_check}`)
  const orphans = await queries.all('PRAGMA foreign_key_check')
  return orphans.length === 0
    ? breaches
    : [...breaches, `${orphans.length} rows refer to rows that do not exist`]
}

/**
 * Opens a SQLite store for reading, beside a running server or without one.
 * @throws StoreError when it is missing, damaged or of a newer program
 */
export function openSqliteReports(file: string, clock: Clock): Reports {
  return new StoreReports(new SqliteQueries(resolve(file)), { clock, verifyMore: verifyFile })
}
