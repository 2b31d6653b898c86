import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { openCopy, sqliteErrorCode, type SqliteDatabase } from './sqlite-database.ts'
import { damaged, openFailure } from './sqlite-prepare.ts'
import { openSqliteFile } from './sqlite-queries.ts'
import { StoreError } from '../shared/store-queries.ts'
import { fileProblem } from '../../platform/file-problem.ts'

/** All pages at once: the store is read in one pass, so small steps gain nothing. */
const pagesMax = 0x7fffffff

/** Errors of SQLite that come from the store, and not from the copy. */
const ofReading = /^SQLITE_(?:BUSY|CORRUPT|IOERR_READ|IOERR_SHORT_READ|LOCKED|NOTADB)/

/** Syncs a file or a folder. A rename is on disk once its folder is. */
function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Checks the copy: one that cannot be restored is worse than none, because operators rely on it. Damage is the store's
 * own.
 */
function finish(copy: string, file: string): void {
  const database = openCopy(copy)
  try {
    // One file that can be read from anywhere. The gateway that opens it changes this back.
    database.pragma('journal_mode = DELETE')
    const finding = database.prepare('PRAGMA quick_check(1)').pluck().get()
    if (finding !== 'ok') throw damaged(file, String(finding))
  } finally {
    database.close()
  }
}

async function copyPages(database: SqliteDatabase, copy: string): Promise<void> {
  // A transaction sees one state of the store. Without it every commit of the gateway would restart the copy.
  database.exec('BEGIN')
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get()
    await database.backup(copy, { progress: () => pagesMax })
  } finally {
    database.exec('ROLLBACK')
  }
}

/**
 * Writes a complete, consistent copy of a store, even while its gateway runs. The copy gets its name only once it is
 * complete and on disk: an interrupted backup leaves `<file>.partial`, which the next attempt replaces.
 * @throws StoreError when the copy exists already or cannot be written, or the store cannot be read
 */
export async function backupSqliteStore(file: string, copy: string): Promise<void> {
  const exists = (): StoreError => new StoreError(`${copy} exists already; a backup overwrites nothing`)
  if (existsSync(copy)) throw exists()
  const partial = `${copy}.partial`
  const database = openSqliteFile(file, { isOlderToo: true })
  try {
    rmSync(partial, { force: true })
    // The copy holds what the store holds, so no other user may read it either.
    closeSync(openSync(partial, 'w', 0o600))
    await copyPages(database, partial)
    finish(partial, file)
    sync(partial)
  } catch (error) {
    if (existsSync(partial)) rmSync(partial)
    if (error instanceof StoreError) throw error
    if (ofReading.test(sqliteErrorCode(error) ?? '')) throw openFailure(error, file)
    throw new StoreError(`${copy} cannot be written: ${fileProblem(error)}`, { cause: error })
  } finally {
    database.close()
  }
  if (existsSync(copy)) throw exists()
  renameSync(partial, copy)
  sync(dirname(copy))
}
