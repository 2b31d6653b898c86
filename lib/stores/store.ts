import type { AccountSettings, Accounts, KeyDirectory } from '../accounts/accounts.ts'
import type { UserRows } from '../accounts/user-rows.ts'
import type { HoldRequest, Ledger, LedgerUnavailableError } from '../ledger/ledger.ts'
import type { Reports } from '../ledger/reports.ts'
import type { RiskRule } from '../ledger/risk.ts'
import type { Clock } from '../platform/clock.ts'
import type { Log } from '../platform/log.ts'
import type { Records } from './records/records.ts'

/** What a store of either kind is opened with. Times in milliseconds. */
export interface StoreOptions {
  readonly durability: 'strict' | 'relaxed'
  readonly clock: Clock
  /** Measures leases and how old a hold is; tests bring their own. */
  readonly steadyClock?: Clock
  /** How long an exchange waits for a store that is out of order; a minute unless said. */
  readonly patienceMs?: number
  /** From this many writes waiting on, new holds are refused. */
  readonly waitingMax?: number
  /** How far worst cases may go beyond an account's money, as it is now; not at all unless said. */
  readonly riskRule?: () => RiskRule
  readonly log?: Pick<Log, 'info' | 'error'>
  /** The store cannot be used any more, for this reason, or can be again. */
  readonly onAvailable?: (error: LedgerUnavailableError | undefined) => void
}

/** A hold that the process which placed it can no longer resolve. */
type ReleasedHold = Pick<HoldRequest, 'exchangeId' | 'sequence' | 'accountId' | 'likelyMicros'>

/** Everything a gateway keeps, opened for writing: on SQLite by its one writer, on PostgreSQL by any node. */
export interface Store {
  readonly ledger: Ledger
  readonly accounts: Accounts
  readonly keys: KeyDirectory
  readonly users: UserRows
  readonly settings: AccountSettings
  readonly reports: Reports
  /** Business rows. What builds their queries is loaded with the first call. */
  records(): Promise<Records>
  /** What a crash had left open and opening the store resolved. */
  readonly recovery: { readonly releasedHolds: readonly ReleasedHold[] }
  /** Whether the store was made just now. */
  readonly isNew: boolean
  /** Why it cannot be written at present, as far as is known; undefined when all is well. */
  failure(): LedgerUnavailableError | undefined
  /** Operations that wait to be written. */
  writesWaiting(): number
  /** Ends holds past their expiry; answers how many. */
  expireHolds(): Promise<number>
  /** Writes what is queued, then gives the store free. May be called again. */
  close(): Promise<void>
}
