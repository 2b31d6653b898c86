import { hostname } from 'node:os'
import { MemoryKeyDirectory } from '../../accounts/memory-key-directory.ts'
import { steadyClock as systemSteadyClock, type Clock } from '../../platform/clock.ts'
import { LedgerUnavailableError } from '../../ledger/ledger.ts'
import type { HoldRequest } from '../../ledger/ledger.ts'
import { noRisk } from '../../ledger/risk.ts'
import { newId } from '../../platform/new-id.ts'
import { PostgresAccounts } from './postgres-accounts.ts'
import {
  cannotConnect,
  endPostgres,
  postgresPool,
  isStoreFailure,
  notWritten,
  transaction,
} from './postgres-connection.ts'
import type { PostgresPool } from './postgres-connection.ts'
import { lostTouch, PostgresLedger } from './postgres-ledger.ts'
import { migratePostgres, postgresQueries, runAll } from './postgres-queries.ts'
import { PostgresNode } from './postgres-node.ts'
import type { PostgresOperation } from './postgres-operation.ts'
import { PostgresWriter } from './postgres-writer.ts'
import { StoreError, type StoreQueries, type SqlStatement } from '../shared/store-queries.ts'
import type { Store, StoreOptions } from '../store.ts'
import { storePatienceMs, storeQueue } from '../shared/write-queue.ts'
import type { UserRow } from '../../accounts/user-rows.ts'
import { storeReports } from '../shared/store-reports.ts'
import { StoreAccountSettings } from '../shared/store-account-settings.ts'
import { StoreUserRows } from '../shared/store-user-rows.ts'

export interface PostgresStoreOptions extends StoreOptions {
  readonly url: string
  /** How long a silent node keeps its holds; half a minute by default. */
  readonly leaseMs?: number
}

/** What a database writes in a few seconds. */
const waitingMax = 20_000
const leaseMsDefault = 30_000
/** How often to check a store, which can be lost without a write. */
const checkMs = 500

/**
 * Opens a PostgreSQL store as one of its nodes; an empty database becomes a new store.
 * @throws StoreError when it cannot be reached or used, or a newer program wrote it
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

/** Each change of users and settings is a transaction. */
function statementsOn(pool: PostgresPool) {
  return async (statements: readonly SqlStatement[]): Promise<readonly UserRow[]> => {
    try {
      return await transaction(pool, 'BEGIN', queries => runAll<UserRow>(queries, statements))
    } catch (cause) {
      throw isStoreFailure(cause) ? notWritten(cause) : cause
    }
  }
}

/** Holds that are ended at a time, as one batch. */
const holdsAtOnce = 1000

const selectOpen = `SELECT exchange_id AS "exchangeId", sequence, account_id AS "accountId", key_id AS "keyId",
  amount_micros AS "likelyMicros",
  worst_micros AS "worstMicros" FROM holds WHERE state = 'open' AND owner <> 'jobs'`

/** Ends holds, of any node, that their node can no longer resolve. Those of jobs belong to all nodes. */
class PostgresOpenHolds {
  readonly #queries: StoreQueries
  readonly #ledger: PostgresLedger

  constructor(queries: StoreQueries, ledger: PostgresLedger) {
    this.#queries = queries
    this.#ledger = ledger
  }

  /** Ends holds of nodes that have closed. */
  endAbandoned(): Promise<readonly HoldRequest[]> {
    return this.#end('owner NOT IN (SELECT id FROM nodes)')
  }

  /** Ends holds of nodes that have closed, or whose lease is over. */
  endOrphaned(): Promise<readonly HoldRequest[]> {
    return this.#end('owner NOT IN (SELECT id FROM nodes WHERE lease_until > now())')
  }

  async #end(condition: string): Promise<readonly HoldRequest[]> {
    const ended: HoldRequest[] = []
    for (;;) {
      const holds = await this.#queries.all<HoldRequest>(
        `${selectOpen} AND ${condition} ORDER BY created_at, exchange_id, sequence LIMIT ${holdsAtOnce}`,
      )
      // `expired`, so that a node which was only presumed dead can still charge what it owes.
      await this.#ledger.endHolds(holds, 'expired')
      ended.push(...holds)
      if (holds.length < holdsAtOnce) return ended
    }
  }
}

interface NodeParts {
  readonly owner: string
  readonly keys: MemoryKeyDirectory
  readonly steadyClock: Clock
  readonly openHolds: PostgresOpenHolds
}

function nodeOf(
  { url, log, leaseMs = leaseMsDefault }: PostgresStoreOptions,
  { owner, keys, steadyClock, openHolds }: NodeParts,
): PostgresNode {
  return new PostgresNode({
    url,
    id: owner,
    keys,
    steadyClock,
    leaseMs,
    async endOrphaned() {
      for (const hold of await openHolds.endOrphaned())
        log?.info({ hold }, 'released a hold that a dead node left open')
    },
    onError: error => log?.info({ error }, 'the database is out of reach'),
  })
}

async function assembleStore(
  options: PostgresStoreOptions,
  pool: PostgresPool,
  isNew: boolean,
): Promise<Store> {
  const { clock, steadyClock = systemSteadyClock } = options
  const { patienceMs = storePatienceMs, riskRule = () => noRisk } = options
  const owner = `${hostname()}:${process.pid}:${newId()}`
  const keys = new MemoryKeyDirectory()
  const writer = new PostgresWriter(options)
  let closing: Promise<void> | undefined
  let checking: NodeJS.Timeout | undefined
  const { queue, failure, check } = storeQueue<PostgresOperation>({
    waitingMax,
    ...options,
    send: operations => void writer.run(operations).then(report => queue.onReport(report)),
    isClosing: () => closing !== undefined,
    lost: () => (node.isAnswered && node.isHeard ? undefined : lostTouch()),
  })
  const queries = postgresQueries(pool)
  const own = { queries, clock, steadyClock, riskRule, change: statementsOn(pool) }
  const ledger = new PostgresLedger({ queue, ...own, patienceMs, owner, isHeard: () => node.isHeard })
  const openHolds = new PostgresOpenHolds(queries, ledger)
  const node = nodeOf(options, { owner, keys, steadyClock, openHolds })
  const close = async (): Promise<void> => {
    clearInterval(checking)
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
    checking = setInterval(check, checkMs).unref()
    return {
      ledger,
      accounts: new PostgresAccounts({ pool, keys, clock, owner, riskRule }),
      keys,
      users: new StoreUserRows(own),
      settings: new StoreAccountSettings(own),
      reports: storeReports(queries, { clock, riskRule }),
      records: async () =>
        (await import('../records/postgres-records.ts')).postgresRecords(pool, queries, riskRule),
      recovery: { releasedHolds: await openHolds.endAbandoned() },
      isNew,
      failure,
      writesWaiting: () => queue.waiting,
      expireHolds: () => ledger.expireHolds(),
      close: () => (closing ??= close()),
    }
  } catch (error) {
    await close()
    throw error
  }
}
