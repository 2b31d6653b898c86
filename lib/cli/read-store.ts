import type { SqliteReader } from '../stores/sqlite-reader.ts'
import type { SharedOptions } from './add-command.ts'
import { CommandError } from './context.ts'
import { openConfig } from './open-config.ts'

/** Reads the store, beside a running server or without one. */
export async function readStore<T>(options: SharedOptions, read: (reader: SqliteReader) => T): Promise<T> {
  const { config } = openConfig(options)
  if (config.store.kind !== 'sqlite') throw new CommandError('this command reads SQLite stores only')
  const { openSqliteReader } = await import('../stores/sqlite-reader.ts')
  const reader = openSqliteReader(config.store.file)
  try {
    return read(reader)
  } finally {
    reader.close()
  }
}

/** @throws CommandError when nothing was found by the id */
export function found<T>(value: T | undefined, accountId: string): T {
  if (value !== undefined) return value
  throw new CommandError(`there is no account ${accountId}: gateway account list shows them all`)
}
