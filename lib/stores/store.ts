import type { AccountSettings, Accounts, KeyDirectory } from '../accounts/accounts.ts'
import type { UserRows } from '../accounts/user-rows.ts'
import type { Ledger, LedgerUnavailableError } from '../ledger/ledger.ts'
import type { Reports } from '../ledger/reports.ts'
import type { Records } from './records/records.ts'

/** A hold that the process which placed it can no longer resolve. */
interface ReleasedHold {
  readonly exchangeId: string
  readonly sequence: number
  readonly accountId: string
  readonly likelyMicros: number
}

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
