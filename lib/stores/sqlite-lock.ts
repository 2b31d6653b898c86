import { openForLocking, sqliteErrorCode } from './sqlite-database.ts'
import { StoreLockedError } from './store-error.ts'

/** The right to write a store; given back by `release` or by the end of the process, however it ends. */
export interface StoreLock {
  release(): void
}

/**
 * Takes the lock of a store: an open exclusive transaction on a file beside it. The kernel drops it with
 * the process, so that nothing stale is left by kill -9.
 * @throws StoreLockedError when somebody has it
 */
export function lockStore(file: string): StoreLock {
  const database = openForLocking(`${file}.lock`)
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (sqliteErrorCode(error)?.startsWith('SQLITE_BUSY')) throw new StoreLockedError(file)
    throw error
  }
  return {
    release() {
      database.exec('ROLLBACK')
      database.close()
    },
  }
}
