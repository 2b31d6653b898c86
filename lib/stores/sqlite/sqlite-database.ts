import Database from 'better-sqlite3'
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { StoreLockedError, cannotOpen, type SqlStatement } from '../shared/store-queries.ts'
import { dropped, written } from '../shared/write-batch.ts'
import type { WriteQueue } from '../shared/write-queue.ts'

/** A file that is open. */
export type SqliteDatabase = Database.Database
/** A statement that is prepared. */
export type SqliteStatement = Database.Statement

/** The code of an error that SQLite reported, such as `SQLITE_FULL`; undefined for any other error. */
export function sqliteErrorCode(error: unknown): string | undefined {
  return error instanceof Database.SqliteError ? error.code : undefined
}

/** Opens a file that must exist, for reading beside whoever writes it. */
export function openForReading(file: string): SqliteDatabase {
  return new Database(file, { readonly: true, fileMustExist: true, timeout: 5000 })
}

/** Opens or makes a file for its one writer: a commit is on the disk when it returns. */
export function openForWriting(file: string): SqliteDatabase {
  // Nobody else writes, unless a person does with a tool: the queue behind must not wait long.
  const database = new Database(file, { timeout: 1000 })
  database.pragma('journal_mode = WAL')
  // With WAL the library's own default loses the last commits when the machine loses power.
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  // Checkpoints sync the main file; fewer of them cost less than a longer log.
  database.pragma('wal_autocheckpoint = 4000')
  return database
}

/** Opens a finished copy of a store, which nobody else has open. */
export function openCopy(file: string): SqliteDatabase {
  return new Database(file, { fileMustExist: true, timeout: 0 })
}

/** Only the owner. */
const ownMode = 0o600

/** The right to write a store; given back by `release` or by the end of the process, however it ends. */
export interface StoreLock {
  release(): void
}

/** The file beside a store whose lock is the right to write it. */
export function lockFileOf(file: string): string {
  return `${file}.lock`
}

/**
 * Takes the lock of a store: an open exclusive transaction on a file beside it. The kernel drops it with
 * the process, so that nothing stale is left by kill -9.
 * @throws StoreLockedError when somebody has it
 * @throws StoreError when the file cannot be made
 */
export function lockStore(file: string): StoreLock {
  const path = lockFileOf(file)
  let database: SqliteDatabase | undefined
  try {
    // Whoever may read it may lock it, and would keep the gateway from starting.
    closeSync(openSync(path, 'a', ownMode))
    if ((statSync(path).mode & 0o777) !== ownMode) chmodSync(path, ownMode)
    database = new Database(path, { timeout: 0 })
    database.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    database?.close()
    if (sqliteErrorCode(cause)?.startsWith('SQLITE_BUSY')) throw new StoreLockedError(file)
    throw cannotOpen(path, cause)
  }
  const locked = database
  return {
    release() {
      locked.exec('ROLLBACK')
      locked.close()
    },
  }
}

/** Has the writer run statements as one operation; answers the rows of the last one when they are on the disk. */
export async function runStatements<Row extends object>(
  queue: WriteQueue,
  statements: readonly SqlStatement[],
): Promise<readonly Row[]> {
  return (await written(queue.add({ kind: 'statements', statements }, dropped))) as readonly Row[]
}
