import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Accounts } from '../accounts/accounts.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { RiskRule } from '../ledger/risk.ts'
import type { Log } from '../platform/log.ts'
import type { openRecordReader } from '../stores/open-store.ts'
import type { Records } from '../stores/records/records.ts'
import type { Store } from '../stores/store.ts'
import { ControlClient, isListening } from './control-client.ts'
import { socketPath } from './socket-path.ts'

interface AccountsConnection {
  readonly accounts: Accounts
  /** Business rows: written the same way, and read from the store. */
  records(): Promise<Records>
  /** What makes the changes: a running server, or this process with the store's lock. */
  readonly through: 'server' | 'store'
  close(): Promise<void>
}

interface ConnectOptions {
  readonly clock: Clock
  readonly log: Log
  /** A server's rule for money at risk; without it, no account may go beyond its balance. */
  readonly riskRule?: () => RiskRule
  /** How long to wait for a server that has the lock and does not listen yet. */
  readonly startingMs?: number
}

const retryMs = 50

/**
 * Access to accounts from outside the server: through its control socket while one runs, so that its memory changes
 * with the store; else with the store's lock, which `close` releases. A PostgreSQL store is changed directly: its nodes
 * receive the change from the database.
 *
 * @throws StoreLockedError when another process has the lock and does not listen
 */
export async function connectAccounts(
  setting: Config['store'],
  options: ConnectOptions,
): Promise<AccountsConnection> {
  const { startingMs = 5_000, ...storeOptions } = options
  if (setting.kind === 'postgres') {
    const { openStore } = await import('../stores/open-store.ts')
    const store = await openStore({ store: setting, durability: 'strict' }, storeOptions)
    return ofStore(store)
  }
  const { file } = setting
  const path = socketPath(file)
  // The store's modules are loaded only where the store is opened: with a running server they are not needed.
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    if (existsSync(path) && (await isListening(path))) return ofServer(new ControlClient(path), setting)
    const { openStore } = await import('../stores/open-store.ts')
    const { StoreLockedError } = await import('../stores/shared/store-queries.ts')
    try {
      const store = await openStore({ store: setting, durability: 'strict' }, storeOptions)
      return ofStore(store)
    } catch (error) {
      if (!(error instanceof StoreLockedError) || waitedMs >= startingMs) throw error
    }
    await delay(retryMs)
  }
}

function ofStore(store: Store): AccountsConnection {
  return {
    accounts: store.accounts,
    records: () => store.records(),
    through: 'store',
    close: () => store.close(),
  }
}

function ofServer(client: ControlClient, setting: Config['store']): AccountsConnection {
  let reader: Awaited<ReturnType<typeof openRecordReader>> | undefined
  return {
    accounts: client,
    async records() {
      const { openRecordReader } = await import('../stores/open-store.ts')
      reader ??= await openRecordReader(setting)
      return { ...reader, write: steps => client.writeRecords(steps) }
    },
    through: 'server',
    close: async () => reader?.close(),
  }
}
