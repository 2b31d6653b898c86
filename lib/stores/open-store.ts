import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Reports } from '../ledger/reports.ts'
import type { RiskRule } from '../ledger/risk.ts'
import type { RecordReader } from './records/records.ts'
import type { Store, StoreOptions } from './store.ts'

interface OpenOptions extends Pick<StoreOptions, 'clock' | 'riskRule' | 'log' | 'onAvailable'> {
  /** The store can never be written again by this process. */
  readonly onLost?: (error: Error) => void
}

/** A store as it may be shown: without the password. */
export function storeName(store: Config['store']): string {
  if (store.kind === 'sqlite') return store.file
  const { protocol, host, pathname } = new URL(store.url)
  return `${protocol}//${host}${pathname}`
}

// Each kind's modules are loaded only where it is used.

/**
 * Opens the store that a config names, for writing.
 * @throws StoreLockedError when another process has a SQLite store
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
 * Makes sure that a start could open or make the store that a config names, and makes nothing that stays.
 * @throws StoreError in the words of a start
 */
export async function checkStore(store: Config['store']): Promise<void> {
  if (store.kind === 'postgres') {
    const { checkPostgresStore } = await import('./postgres/postgres-reports.ts')
    await checkPostgresStore(store.url)
    return
  }
  const { checkSqliteStore } = await import('./sqlite/check-sqlite-store.ts')
  checkSqliteStore(store.file)
}

/**
 * Opens the store that a config names, for reading beside whoever writes it.
 * @throws StoreError when there is none, or it cannot be used
 */
export async function openReports(
  store: Config['store'],
  clock: Clock,
  riskRule?: () => RiskRule,
): Promise<Reports> {
  if (store.kind === 'postgres') {
    const { openPostgresReports } = await import('./postgres/postgres-reports.ts')
    return openPostgresReports(store.url, clock, riskRule)
  }
  const { openSqliteReports } = await import('./sqlite/sqlite-reports.ts')
  return openSqliteReports(store.file, clock, riskRule)
}

/** The same for a process that serves others meanwhile: a SQLite file is read on a thread of its own. */
export async function openServedReports(
  store: Config['store'],
  clock: Clock,
  riskRule: () => RiskRule,
): Promise<Reports> {
  if (store.kind === 'postgres') return openReports(store, clock, riskRule)
  const { SqliteReaderQueries } = await import('./sqlite/sqlite-reports.ts')
  const { sqliteReports } = await import('./sqlite/sqlite-reports.ts')
  return sqliteReports(new SqliteReaderQueries(store.file), clock, riskRule)
}

/**
 * Opens the business rows of the store that a config names, for reading beside whoever writes it.
 * @throws StoreError when there is none, or it cannot be used
 */
export async function openRecordReader(
  store: Config['store'],
): Promise<RecordReader & { close(): Promise<void> }> {
  if (store.kind === 'postgres') {
    const { openPostgresRecordReader } = await import('./records/postgres-records.ts')
    return openPostgresRecordReader(store.url)
  }
  const { openSqliteRecordReader } = await import('./records/sqlite-records.ts')
  return openSqliteRecordReader(store.file)
}
