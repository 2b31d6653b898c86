import { hostname } from 'node:os'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { MemoryKeyDirectory } from '../../accounts/memory-key-directory.ts'
import { steadyClock } from '../../platform/clock.ts'
import { BalanceBook } from '../../ledger/balance-book.ts'
import { KeySpending } from '../../ledger/key-spending.ts'
import { LedgerUnavailableError } from '../../ledger/ledger.ts'
import { noRisk } from '../../ledger/risk.ts'
import type { RiskRule } from '../../ledger/risk.ts'
import { SqliteAccounts } from './sqlite-accounts.ts'
import { lockStore, type StoreLock, runStatements } from './sqlite-database.ts'
import { SqliteQueries, SqliteReaderQueries, readSqliteKeys } from './sqlite-queries.ts'
import { SqliteLedger } from './sqlite-ledger.ts'
import { storeFile } from './store-file.ts'
import { StoreError, type SqlStatement } from '../shared/store-queries.ts'
import type {
  StoreOperation,
  StoreSnapshot,
  WriterMessage,
  WriterOptions,
} from '../shared/store-operation.ts'
import type { Store, StoreOptions } from '../store.ts'
import { storePatienceMs, storeQueue, type WriteQueue } from '../shared/write-queue.ts'
import type { UserRow } from '../../accounts/user-rows.ts'
import { storeReports } from '../shared/store-reports.ts'
import { StoreAccountSettings, type StatementOptions } from '../shared/store-account-settings.ts'
import { StoreUserRows } from '../shared/store-user-rows.ts'

export interface SqliteStoreOptions extends StoreOptions {
  readonly file: string
  /** Called when the writer has died: nothing can be written until the store is opened again. */
  readonly onLost?: (error: Error) => void
}

/** What the writer writes in about a second. */
const waitingMax = 50_000

// Compiled, the writer is a .js file like this one.
const writerUrl = new URL(`./sqlite-writer${extname(import.meta.url)}`, import.meta.url)

/** Starts the thread and waits until it has opened the store. */
async function startWriter(options: WriterOptions): Promise<{ worker: Worker; snapshot: StoreSnapshot }> {
  const worker = new Worker(writerUrl, { workerData: options, execArgv: [] })
  const message = await new Promise<WriterMessage>((fulfill, reject) => {
    worker.once('message', fulfill)
    worker.once('error', reject)
  })
  if (message.kind === 'ready') return { worker, snapshot: message.snapshot }
  await worker.terminate()
  throw new StoreError(message.kind === 'refused' ? message.message : 'the writer sent an unexpected message')
}

/** Connects the writer to the queue; the promise is fulfilled when the thread has ended, for any reason. */
function connect(worker: Worker, queue: WriteQueue): Promise<void> {
  worker.on('message', (message: WriterMessage) => {
    if (message.kind === 'report') queue.onReport(message.report)
  })
  worker.on('error', cause => {
    queue.stop(new LedgerUnavailableError("the store's writer failed", { cause }))
  })
  return new Promise(fulfill => {
    worker.once('exit', () => {
      queue.stop(new LedgerUnavailableError("the store's writer has ended"))
      fulfill()
    })
  })
}

/** Reads the keys here, one by one: a million of them, sent by the writer in one message, took a gigabyte. */
function loadMemory(file: string, snapshot: StoreSnapshot, riskRule: () => RiskRule) {
  const book = new BalanceBook(riskRule)
  for (const [accountId, netMicros, paidMicros] of snapshot.balances)
    book.add(accountId, netMicros, paidMicros)
  const keys = new MemoryKeyDirectory()
  const spending = new KeySpending()
  for (const [digest, key] of readSqliteKeys(file)) {
    keys.put(digest, key)
    if (key.budgetMicros !== undefined) spending.watch(key.id)
  }
  for (const [keyId, day, spentMicros] of snapshot.spending) spending.load(keyId, day, spentMicros)
  return { book, keys, spending }
}

/**
 * Opens a SQLite store as its one writer; a new file becomes a new store.
 * @throws StoreLockedError when another process writes it
 * @throws StoreError when it is damaged, not a store, or written by a newer program
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const file = storeFile(options.file)
  const lock = lockStore(file)
  let worker: Worker | undefined
  try {
    const started = await startWriter({ file, now: options.clock.now() })
    worker = started.worker
    return assembleStore({ ...options, file }, lock, worker, started.snapshot)
  } catch (error) {
    await worker?.terminate()
    lock.release()
    throw error
  }
}

interface SqliteUsersOptions extends Pick<StatementOptions, 'queries' | 'clock'> {
  readonly queue: WriteQueue
  readonly book: BalanceBook
}

/** The ledger's writer changes users and settings, too: a SQLite store has no other. */
function sqliteUsers({ queue, book, ...reading }: SqliteUsersOptions): Pick<Store, 'users' | 'settings'> {
  const change = (statements: readonly SqlStatement[]) => runStatements<UserRow>(queue, statements)
  const onAccount = (accountId: string): void => book.add(accountId, 0)
  return {
    users: new StoreUserRows({ ...reading, change, onAccount }),
    settings: new StoreAccountSettings({ ...reading, change }),
  }
}

function assembleStore(
  options: SqliteStoreOptions,
  lock: StoreLock,
  worker: Worker,
  snapshot: StoreSnapshot,
): Store {
  const { file, durability, clock, patienceMs = storePatienceMs, riskRule = () => noRisk } = options
  const { book, keys, spending } = loadMemory(file, snapshot, riskRule)
  let closing: Promise<void> | undefined
  const send = (operations: readonly StoreOperation[]): void => worker.postMessage(operations)
  const isClosing = (): boolean => closing !== undefined
  const { queue, failure } = storeQueue({ waitingMax, ...options, send, isClosing })
  const exited = connect(worker, queue)
  void exited.then(() => {
    if (closing === undefined) options.onLost?.(new Error('the thread that writes the store has ended'))
  })
  const reader = new SqliteQueries(file)
  const queries = new SqliteReaderQueries(file)
  const ledger = new SqliteLedger({
    queue,
    book,
    spending,
    reader,
    priceHashes: snapshot.priceHashes,
    jobHolds: snapshot.jobHolds,
    isStrict: durability === 'strict',
    clock,
    steadyClock: options.steadyClock ?? steadyClock,
    patienceMs,
    owner: `${hostname()}:${process.pid}`,
  })
  const close = async (): Promise<void> => {
    try {
      await queue.flush()
    } finally {
      await reader.close()
      await queries.close()
      worker.postMessage(undefined)
      await exited
      lock.release()
    }
  }
  return {
    ledger,
    accounts: new SqliteAccounts({ queries, queue, book, spending, holds: ledger, keys, clock }),
    keys,
    ...sqliteUsers({ queries, queue, clock, book }),
    reports: storeReports(queries, { clock, riskRule }),
    async records() {
      const { sqliteRecords } = await import('../records/sqlite-records.ts')
      return sqliteRecords({ queries, queue, book })
    },
    recovery: { releasedHolds: snapshot.releasedHolds },
    isNew: snapshot.isNew,
    failure,
    writesWaiting: () => queue.waiting,
    expireHolds: async () => ledger.expireHolds(),
    close: () => (closing ??= close()),
  }
}
