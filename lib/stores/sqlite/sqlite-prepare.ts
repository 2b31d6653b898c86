import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { openForWriting, sqliteErrorCode, type SqliteDatabase } from './sqlite-database.ts'
import { SqliteDebts } from './sqlite-entries.ts'
import { StoreError, cannotOpen } from '../shared/store-queries.ts'
import {
  missingSteps,
  type SchemaStep,
  type StoreSchema,
  withoutUnusedColumns,
  sqliteWords,
} from '../shared/store-schema.ts'
import type { ReleasedHold, StoreSnapshot, WriterOptions } from '../shared/store-operation.ts'
import { errorCountTables } from '../records/error-count-table.ts'
import { invoicePartTables } from '../records/document-tables.ts'
import { baselineTables } from '../shared/ledger-schema.ts'
import { uploadTables } from '../shared/stored-uploads.ts'

/** Marks a file as this program's store: "gtwy". */
const applicationId = 0x67747779

/**
 * The tables of a SQLite store. The version is in `user_version`, which SQLite changes within the same transaction as
 * the tables: a step is applied entirely or not at all, and a store of a newer program is recognized by one number
 * before any table of it is read. (Kysely's Migrator keeps its state in tables of its own and is asynchronous, which
 * the writer thread, where this runs, otherwise never is.)
 */
export const sqliteSchema: StoreSchema = {
  baseline: {
    version: 26,
    sql: `${baselineTables(sqliteWords)}
CREATE INDEX holds_open ON holds (account_id) WHERE state = 'open';
`,
  },
  steps: [
    { version: 26, sql: withoutUnusedColumns },
    { version: 27, sql: errorCountTables(sqliteWords) },
    { version: 28, sql: invoicePartTables(sqliteWords) },
    { version: 29, sql: uploadTables(sqliteWords) },
  ],
}

/** Files up to this size are checked entirely at the start; `gateway verify` checks larger ones. */
const checkedBytesMax = 64 * 1024 * 1024

function pragmaNumber(database: SqliteDatabase, name: string): number {
  return Number(database.pragma(name, { simple: true }))
}

/**
 * The steps that a store still lacks, after a check that the file is a store.
 * @throws StoreError when it is of another release, or not a store
 */
export function stepsOf(
  database: SqliteDatabase,
  file: string,
  schema: StoreSchema = sqliteSchema,
): readonly SchemaStep[] {
  const tables = database.prepare('SELECT count(*) FROM sqlite_schema').pluck().get()
  if (tables !== 0 && pragmaNumber(database, 'application_id') !== applicationId) {
    throw new StoreError(`${file} is a SQLite database, but not a store of the gateway`)
  }
  return missingSteps(schema, pragmaNumber(database, 'user_version'), file)
}

function checkPages(database: SqliteDatabase, file: string): void {
  if (statSync(file).size > checkedBytesMax) return
  const finding = database.prepare('PRAGMA quick_check(1)').pluck().get()
  if (finding !== 'ok') {
    throw new StoreError(`${file} is damaged and must be restored from a backup: ${String(finding)}`)
  }
}

/** Applies steps, each entirely or not at all. */
export function migrate(database: SqliteDatabase, steps: readonly SchemaStep[]): void {
  for (const { version, sql } of steps) {
    database.transaction(() => {
      database.exec(sql)
      database.pragma(`application_id = ${applicationId}`)
      database.pragma(`user_version = ${version}`)
    })()
  }
}

/** Releases holds that the last process left open: no caller waits for those exchanges any more. Jobs go on. */
function recover(database: SqliteDatabase, now: number): ReleasedHold[] {
  const open = database.prepare<[], ReleasedHold>(
    `SELECT exchange_id AS exchangeId, sequence, account_id AS accountId, key_id AS keyId,
       amount_micros AS likelyMicros, created_at AS createdAt
     FROM holds WHERE state = 'open' AND owner <> 'jobs' ORDER BY created_at, exchange_id, sequence`,
  )
  const release = database.prepare<[number]>(
    `UPDATE holds SET state = 'released', resolved_at = ? WHERE state = 'open' AND owner <> 'jobs'`,
  )
  // The last process may have claimed jobs for a long lease in order to poll them.
  const endLeases = database.prepare<[number, number]>(
    `UPDATE jobs SET next_poll_at = ? WHERE state = 'open' AND next_poll_at > ?`,
  )
  return database.transaction(() => {
    const holds = open.all()
    if (holds.length > 0) {
      release.run(now)
      new SqliteDebts(database).payAll(now)
    }
    endLeases.run(now, now)
    return holds
  })()
}

function snapshot(
  database: SqliteDatabase,
  isNew: boolean,
  releasedHolds: readonly ReleasedHold[],
): StoreSnapshot {
  return {
    isNew,
    balances: database
      .prepare<[], [string, number, number]>(
        `SELECT id, balance_micros - debt_micros, paid_micros FROM accounts WHERE kind = 'customer'`,
      )
      .raw()
      .all(),
    spending: database
      .prepare<[], [string, number, number]>(
        `SELECT key_id, day, spent_micros FROM key_spending
         WHERE key_id IN (SELECT id FROM keys WHERE budget_micros IS NOT NULL AND revoked_at IS NULL)`,
      )
      .raw()
      .all(),
    priceHashes: database.prepare<[], string>('SELECT hash FROM prices').pluck().all(),
    releasedHolds,
    jobHolds: database
      .prepare<[], StoreSnapshot['jobHolds'][number]>(
        `SELECT provider, kind, id, jobs.exchange_id AS exchangeId, jobs.sequence, jobs.account_id AS accountId,
           jobs.key_id AS keyId, amount_micros AS likelyMicros, worst_micros AS worstMicros
         FROM jobs JOIN holds ON holds.exchange_id = jobs.exchange_id AND holds.sequence = jobs.sequence
         WHERE jobs.state = 'open'`,
      )
      .all(),
  }
}

/** The error for a file that cannot be a store, with what to do. */
export function openFailure(error: unknown, file: string): StoreError {
  if (error instanceof StoreError) return error
  const code = sqliteErrorCode(error)
  if (code !== undefined && /^SQLITE_(NOTADB|CORRUPT)/.test(code)) {
    return damaged(file, code, error)
  }
  return cannotOpen(file, error)
}

/** The error for a damaged store, which a command cannot use. */
export function damaged(file: string, reason: string, cause?: unknown): StoreError {
  return new StoreError(`${file} is damaged or not a SQLite database; restore it from a backup (${reason})`, {
    cause,
  })
}

/** Files that another release created, or that were copied there, may be readable by all users. */
function closeToOthers(path: string): void {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & 0o007) !== 0) chmodSync(path, mode & 0o770)
}

/**
 * Opens a store for its writer: checked, on the newest schema, with no hold left open.
 * @throws StoreError when it cannot be used
 */
export function prepareStore(options: WriterOptions): { database: SqliteDatabase; snapshot: StoreSnapshot } {
  const { file } = options
  let database: SqliteDatabase | undefined
  try {
    // The store holds email addresses: no other user may read it. SQLite gives its log the same mode.
    closeSync(openSync(file, 'a', 0o600))
    for (const suffix of ['', '-wal', '-shm']) closeToOthers(file + suffix)
    database = openForWriting(file)
    const steps = stepsOf(database, file)
    const isNew = steps[0] === sqliteSchema.baseline
    checkPages(database, file)
    migrate(database, steps)
    return { database, snapshot: snapshot(database, isNew, recover(database, options.now)) }
  } catch (error) {
    database?.close()
    throw openFailure(error, file)
  }
}
