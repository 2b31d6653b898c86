import { resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Clock } from '../platform/clock.ts'
import type { Reports } from '../ledger/reports.ts'
import type { RecordReader } from './records/records.ts'
import type { StoreQueries } from './shared/store-queries.ts'
import type { ReportsOptions } from './shared/store-reports.ts'
import type { Store, StoreOptions } from './store.ts'

interface OpenOptions extends Pick<StoreOptions, 'clock' | 'riskRule' | 'log' | 'onAvailable'> {
  /** Called when this process can never write the store again. */
  readonly onLost?: (error: Error) => void
}

/** The store's name for display: without the password. */
export function storeName(store: Config['store']): string {
  if (store.kind === 'sqlite') return store.file
  const { protocol, host, pathname } = new URL(store.url)
  return `${protocol}//${host}${pathname}`
}

// A process loads only the modules of the kind that it uses.

/**
 * Opens the configured store for writing.
 * @throws StoreLockedError when another process has the SQLite store open
 * @throws StoreError when it cannot be used
 */
export async function openStore(
  { store, durability }: Pick<Config, 'store' | 'durability'>,
  options: OpenOptions,
): Promise<Store> {
  if (store.kind === 'postgres') {
    const { openPostgresStore } = await import('./postgres/postgres.ts')
    return openPostgresStore({ url: store.url, durability, ...options })
  }
  const { openSqliteStore } = await import('./sqlite/sqlite.ts')
  return openSqliteStore({ file: store.file, durability, ...options })
}

/**
 * Checks that a start could open or create the configured store. It leaves nothing behind.
 * @throws StoreError with the message that a start would report
 */
export async function checkStore(store: Config['store']): Promise<void> {
  if (store.kind === 'postgres') {
    const { checkPostgresStore } = await import('./postgres/postgres-queries.ts')
    await checkPostgresStore(store.url)
    return
  }
  const { checkSqliteStore } = await import('./sqlite/store-file.ts')
  checkSqliteStore(store.file)
}

/**
 * Opens the configured store for reading, beside the process that writes it.
 * @param isServing the process also serves requests: a SQLite file is then read on a thread of its own
 */
async function openQueries(store: Config['store'], isServing = false): Promise<StoreQueries> {
  if (store.kind === 'postgres') {
    const { openPostgresQueries } = await import('./postgres/postgres-queries.ts')
    return openPostgresQueries(store.url)
  }
  const { SqliteQueries, SqliteReaderQueries } = await import('./sqlite/sqlite-queries.ts')
  const file = resolve(store.file)
  return isServing ? new SqliteReaderQueries(file) : new SqliteQueries(file)
}

/**
 * Opens the reports of the configured store.
 * @throws StoreError when there is no store, or it cannot be used
 */
export async function openReports(
  store: Config['store'],
  clock: Clock,
  { isServing, ...options }: Pick<ReportsOptions, 'riskRule'> & { readonly isServing?: boolean } = {},
): Promise<Reports> {
  const queries = await openQueries(store, isServing)
  const { storeReports } = await import('./shared/store-reports.ts')
  return storeReports(queries, { clock, ...options })
}

/**
 * Opens the business rows of the configured store for reading.
 * @throws StoreError when there is no store, or it cannot be used
 */
export async function openRecordReader(
  store: Config['store'],
): Promise<RecordReader & { close(): Promise<void> }> {
  const queries = await openQueries(store)
  const { recordReader } = await import('./records/record-reader.ts')
  return { ...recordReader(queries), close: () => queries.close() }
}
