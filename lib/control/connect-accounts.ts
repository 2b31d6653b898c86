import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Accounts } from '../accounts/accounts.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'
import { ControlClient, isListening } from './control-client.ts'
import { socketPath } from './socket-path.ts'

interface AccountsConnection {
  readonly accounts: Accounts
  /** Who makes the changes: a server that runs, or this process with the store's lock. */
  readonly through: 'server' | 'store'
  close(): Promise<void>
}

interface ConnectOptions {
  readonly clock: Clock
  readonly log: Log
  /** How long a server that has the lock and does not listen yet is waited for. */
  readonly startingMs?: number
}

const retryMs = 50

/**
 * Accounts to change, from outside the server: through its control socket while one runs, so that its
 * memory changes with the store; else with the store's lock, given back by `close`. A PostgreSQL store is
 * changed directly: its nodes hear of it.
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
    return { accounts: store.accounts, through: 'store', close: () => store.close() }
  }
  const { file } = setting
  const path = socketPath(file)
  // The store's modules are loaded only where the store is opened: with a server running they are not needed.
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    if (existsSync(path) && (await isListening(path))) {
      return { accounts: new ControlClient(path), through: 'server', close: () => Promise.resolve() }
    }
    const { openStore } = await import('../stores/open-store.ts')
    const { StoreLockedError } = await import('../stores/store-error.ts')
    try {
      const store = await openStore({ store: setting, durability: 'strict' }, storeOptions)
      return { accounts: store.accounts, through: 'store', close: () => store.close() }
    } catch (error) {
      if (!(error instanceof StoreLockedError) || waitedMs >= startingMs) throw error
    }
    await delay(retryMs)
  }
}
