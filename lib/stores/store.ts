import type { AccountSettings, Accounts, KeyDirectory } from '../accounts/accounts.ts'
import type { UserRows } from '../accounts/user-rows.ts'
import type { HoldRequest, Ledger, LedgerUnavailableError } from '../ledger/ledger.ts'
import type { Reports } from '../ledger/reports.ts'
import type { RiskRule } from '../ledger/risk.ts'
import type { Clock } from '../platform/clock.ts'
import type { Log } from '../platform/log.ts'
import type { Records } from './records/records.ts'

/** Options of a store of either kind. Times in milliseconds. */
export interface StoreOptions {
  readonly durability: 'strict' | 'relaxed'
  readonly clock: Clock
  /** Measures leases and the age of holds; tests pass their own. */
  readonly steadyClock?: Clock
  /** How long an exchange waits for a store that cannot be written; a minute by default. */
  readonly patienceMs?: number
  /** New holds are refused while at least this many writes wait. */
  readonly waitingMax?: number
  /** Returns how far worst cases may exceed an account's money at present; by default not at all. */
  readonly riskRule?: () => RiskRule
  readonly log?: Pick<Log, 'info' | 'error'>
  /** Called with the reason when the store becomes unusable, and with undefined when it is usable again. */
  readonly onAvailable?: (error: LedgerUnavailableError | undefined) => void
}

/** A hold that the process which placed it can no longer resolve. */
type ReleasedHold = Pick<HoldRequest, 'exchangeId' | 'sequence' | 'accountId' | 'likelyMicros'>

/** Everything that a gateway stores, opened for writing: on SQLite by its one writer, on PostgreSQL by any node. */
export interface Store {
  readonly ledger: Ledger
  readonly accounts: Accounts
  readonly keys: KeyDirectory
  readonly users: UserRows
  readonly settings: AccountSettings
  readonly reports: Reports
  /** Business rows. The first call loads the modules that build their queries. */
  records(): Promise<Records>
  /** Holds that a crash left open and that opening the store released. */
  readonly recovery: { readonly releasedHolds: readonly ReleasedHold[] }
  /** Whether opening it created the store. */
  readonly isNew: boolean
  /** Why the store cannot be written at present, as far as is known; undefined when it can be. */
  failure(): LedgerUnavailableError | undefined
  /** Operations that wait to be written. */
  writesWaiting(): number
  /** Ends holds past their expiry; resolves with their number. */
  expireHolds(): Promise<number>
  /** Writes queued operations, then releases the store. May be called again. */
  close(): Promise<void>
}
