import { hostname } from 'node:os'
import { MemoryKeyDirectory } from '../../accounts/memory-key-directory.ts'
import { steadyClock as systemSteadyClock } from '../../platform/clock.ts'
import type { Clock } from '../../platform/clock.ts'
import { LedgerUnavailableError } from '../../ledger/ledger.ts'
import { noRisk } from '../../ledger/risk.ts'
import type { RiskRule } from '../../ledger/risk.ts'
import type { Log } from '../../platform/log.ts'
import { newId } from '../../platform/new-id.ts'
import { PostgresAccounts } from './postgres-accounts.ts'
import { cannotConnect, endPostgres, postgresPool } from './postgres-connection.ts'
import type { PostgresPool } from './postgres-connection.ts'
import { lostTouch, PostgresLedger } from './postgres-ledger.ts'
import { migratePostgres } from './postgres-migrate.ts'
import { PostgresNode } from './postgres-node.ts'
import type { PostgresOperation } from './postgres-operation.ts'
import { PostgresOpenHolds } from './postgres-open-holds.ts'
import { postgresQueries } from './postgres-queries.ts'
import { postgresReports } from './postgres-reports.ts'
import { postgresUsers } from './postgres-users.ts'
import { PostgresWriter } from './postgres-writer.ts'
import { StoreError } from '../shared/store-error.ts'
import type { Store } from '../store.ts'
import { WriteQueue } from '../shared/write-queue.ts'

/** Times in milliseconds. */
export interface PostgresStoreOptions {
  readonly url: string
  readonly durability: 'strict' | 'relaxed'
  readonly clock: Clock
  /** Measures leases; tests bring their own. */
  readonly steadyClock?: Clock
  /** How long an exchange waits for a store that is out of order; a minute unless said. */
  readonly patienceMs?: number
  /** From this many writes waiting on, new holds are refused. */
  readonly waitingMax?: number
  /** How long a node that is not heard of keeps its holds; half a minute unless said. */
  readonly leaseMs?: number
  /** How far worst cases may go beyond an account's money, as it is now; not at all unless said. */
  readonly riskRule?: () => RiskRule
  readonly log?: Pick<Log, 'info' | 'error'>
  /** Called when the store stops or starts to take writes. */
  readonly onAvailable?: (error: LedgerUnavailableError | undefined) => void
}

/** Milliseconds between attempts to write while the database is away. */
const retryMs = 250
const patienceMsDefault = 60_000
/** What a database takes in a few seconds. */
const waitingMaxDefault = 20_000
const leaseMsDefault = 30_000

/**
 * Opens a PostgreSQL store as one of its nodes; an empty database becomes a new store.
 * @throws StoreError when it cannot be reached or used, or is of a newer program
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, log } = options
  const onLost = (error: Error): void => log?.info({ error }, 'a connection to the database was lost')
  const pool = postgresPool(url, onLost)
  try {
    const isNew = await migratePostgres(pool)
    return await assembleStore(options, pool, isNew)
  } catch (error) {
    if (!pool.ending) await pool.end()
    throw error instanceof StoreError ? error : cannotConnect(url, error)
  }
}

async function assembleStore(
  options: PostgresStoreOptions,
  pool: PostgresPool,
  isNew: boolean,
): Promise<Store> {
  const {
    url,
    clock,
    log,
    patienceMs = patienceMsDefault,
    leaseMs = leaseMsDefault,
    riskRule = () => noRisk,
  } = options
  const owner = `${hostname()}:${process.pid}:${newId()}`
  const keys = new MemoryKeyDirectory()
  const writer = new PostgresWriter(options)
  let closing: Promise<void> | undefined
  const queue = openQueue(options, writer, () => closing !== undefined)
  const queries = postgresQueries(pool)
  const isHeard = (): boolean => node.isHeard
  const ledger = new PostgresLedger({ queue, queries, clock, patienceMs, owner, isHeard, riskRule })
  const openHolds = new PostgresOpenHolds(queries, ledger)
  const node = new PostgresNode({
    url,
    id: owner,
    keys,
    steadyClock: options.steadyClock ?? systemSteadyClock,
    leaseMs,
    async endOrphaned() {
      for (const hold of await openHolds.endOrphaned())
        log?.info({ hold }, 'released a hold that a node which is gone left open')
    },
    onError: error => log?.info({ error }, 'the database is out of reach'),
  })
  const close = async (): Promise<void> => {
    try {
      await queue.flush()
    } finally {
      queue.stop(new LedgerUnavailableError('the store is closed'))
      await node.close()
      await writer.close()
      await endPostgres(pool)
    }
  }
  try {
    await node.start()
    return {
      ledger,
      accounts: new PostgresAccounts({ pool, keys, clock, owner, riskRule }),
      keys,
      ...postgresUsers(pool, clock),
      reports: postgresReports(pool, clock, riskRule),
      async records() {
        const { postgresRecords } = await import('../records/postgres-records.ts')
        return postgresRecords(pool, queries, riskRule)
      },
      recovery: { releasedHolds: await openHolds.endAbandoned() },
      isNew,
      failure: () => queue.failure ?? (isHeard() ? undefined : lostTouch()),
      writesWaiting: () => queue.waiting,
      expireHolds: () => openHolds.endExpired(clock.now()),
      close: () => (closing ??= close()),
    }
  } catch (error) {
    await close()
    throw error
  }
}

function openQueue(
  { log, onAvailable, waitingMax = waitingMaxDefault }: PostgresStoreOptions,
  writer: PostgresWriter,
  isClosing: () => boolean,
): WriteQueue<PostgresOperation> {
  const queue = new WriteQueue<PostgresOperation>({
    send(operations) {
      void writer.run(operations).then(report => queue.onReport(report))
    },
    onAvailable(error) {
      if (isClosing()) return
      if (error === undefined) log?.info({}, 'the store can be written again')
      else log?.error({ error }, 'the store cannot be written; no paid request is admitted')
      onAvailable?.(error)
    },
    retryMs,
    waitingMax,
  })
  return queue
}
