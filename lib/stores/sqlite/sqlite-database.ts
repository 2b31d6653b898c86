import Database from 'better-sqlite3'

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
  const database = new Database(file, { readonly: true, fileMustExist: true, timeout: 5000 })
  return database
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

/** Opens a file that exists for its lock alone; it never holds data. */
export function openForLocking(file: string): SqliteDatabase {
  return new Database(file, { timeout: 0 })
}

/** Opens a finished copy of a store, which nobody else has open. */
export function openCopy(file: string): SqliteDatabase {
  return new Database(file, { fileMustExist: true, timeout: 0 })
}
