import Database from 'better-sqlite3'
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { StoreLockedError, cannotOpen, type SqlStatement } from '../shared/store-queries.ts'
import { dropped, written } from '../shared/write-batch.ts'
import type { WriteQueue } from '../shared/write-queue.ts'

/** An open file. */
export type SqliteDatabase = Database.Database
/** A prepared statement. */
export type SqliteStatement = Database.Statement

/** The code of an error that SQLite reported, such as `SQLITE_FULL`; undefined for any other error. */
export function sqliteErrorCode(error: unknown): string | undefined {
  return error instanceof Database.SqliteError ? error.code : undefined
}

/** Opens a file that must exist, for reading beside its writer. */
export function openForReading(file: string): SqliteDatabase {
  return new Database(file, { readonly: true, fileMustExist: true, timeout: 5000 })
}

/** Opens or creates a file for its one writer: a commit is on disk when it returns. */
export function openForWriting(file: string): SqliteDatabase {
  // Only a person with a tool may write besides: the queue must not wait long for that.
  const database = new Database(file, { timeout: 1000 })
  database.pragma('journal_mode = WAL')
  // In WAL mode the library's own default loses the last commits when the machine loses power.
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  // Checkpoints sync the main file; fewer of them cost less than a longer log.
  database.pragma('wal_autocheckpoint = 4000')
  return database
}

/** Opens a finished copy of a store, which no other process has open. */
export function openCopy(file: string): SqliteDatabase {
  return new Database(file, { fileMustExist: true, timeout: 0 })
}

/** For the owner only. */
const ownMode = 0o600

/** The right to write a store; released by `release` or by the end of the process, however it ends. */
export interface StoreLock {
  release(): void
}

/** The file beside a store whose lock grants the right to write it. */
export function lockFileOf(file: string): string {
  return `${file}.lock`
}

/**
 * Acquires the lock of a store: an open exclusive transaction on a file beside it. The kernel drops it with the
 * process, so that kill -9 leaves no stale lock.
 * @throws StoreLockedError when another process has the lock
 * @throws StoreError when the file cannot be created
 */
export function lockStore(file: string): StoreLock {
  const path = lockFileOf(file)
  let database: SqliteDatabase | undefined
  try {
    // A user who may read the file may lock it, and keep the gateway from starting.
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

/** Runs statements on the writer as one operation; resolves with the rows of the last one when they are on disk. */
export async function runStatements<Row extends object>(
  queue: WriteQueue,
  statements: readonly SqlStatement[],
): Promise<readonly Row[]> {
  return (await written(queue.add({ kind: 'statements', statements }, dropped))) as readonly Row[]
}
