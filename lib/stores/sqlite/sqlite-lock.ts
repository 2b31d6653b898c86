import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { openForLocking, sqliteErrorCode } from './sqlite-database.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { StoreLockedError, cannotOpen } from '../shared/store-error.ts'

/** Only the owner. */
const ownMode = 0o600

/** The right to write a store; given back by `release` or by the end of the process, however it ends. */
export interface StoreLock {
  release(): void
}

/**
 * Takes the lock of a store: an open exclusive transaction on a file beside it. The kernel drops it with
 * the process, so that nothing stale is left by kill -9.
 * @throws StoreLockedError when somebody has it
 * @throws StoreError when the file cannot be made
 */
export function lockStore(file: string): StoreLock {
  const path = `${file}.lock`
  let database: SqliteDatabase | undefined
  try {
    // Whoever may read it may lock it, and would keep the gateway from starting.
    closeSync(openSync(path, 'a', ownMode))
    if ((statSync(path).mode & 0o777) !== ownMode) chmodSync(path, ownMode)
    database = openForLocking(path)
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
