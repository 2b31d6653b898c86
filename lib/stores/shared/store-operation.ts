import type { CreditSource } from '../../accounts/accounts.ts'
import type { SqlStatement } from './user-tables.ts'

/**
 * What the writer is asked to do: plain arrays, since they cross to another thread by the thousand. The
 * first member names the operation, the others are its values in the order of the statement's parameters.
 */
export type StoreOperation =
  | HoldOperation
  | GrowOperation
  | ChargeOperation
  | ReleaseOperation
  | PriceOperation
  | ObjectOperation
  | AccountOperation
  | CreditOperation
  | DebitOperation
  | KeyOperation
  | OpenJobOperation
  | EndJobOperation
  | DueJobsOperation
  | PostponeJobOperation
  | StatementsOperation
  | TransactionOperation

/** A hold, as a tuple: it crosses to the writer without the names of its fields. */
export type HoldOperation = readonly [
  kind: 'hold',
  exchangeId: string,
  sequence: number,
  accountId: string,
  keyId: string,
  likelyMicros: number,
  worstMicros: number,
  owner: string,
  at: number,
  expiresAt: number,
]

/** What an open hold comes to from now on, as a tuple. */
type GrowOperation = readonly [
  kind: 'grow',
  exchangeId: string,
  sequence: number,
  likelyMicros: number,
  worstMicros: number,
]

/** A charge with the end of its hold, as a tuple. */
export type ChargeOperation = readonly [
  kind: 'charge',
  exchangeId: string,
  sequence: number,
  accountId: string,
  keyId: string,
  at: number,
  provider: string,
  model: string,
  dialect: string,
  operation: string,
  outcome: string,
  usageSource: string,
  lines: string,
  rawUsage: string | null,
  details: string | null,
  flags: string,
  amountMicros: number,
  overrunMicros: number,
]

/** The end of a hold that is not charged, as a tuple. */
export type ReleaseOperation = readonly [
  kind: 'release',
  exchangeId: string,
  sequence: number,
  accountId: string,
  state: 'released' | 'expired',
  at: number,
]

type PriceOperation = readonly [kind: 'price', hash: string, model: string, body: string, at: number]

type ObjectOperation = readonly [
  kind: 'object',
  provider: string,
  objectKind: string,
  id: string,
  accountId: string,
  credential: string,
  exchangeId: string,
  dialect: string | null,
  facts: string | null,
  at: number,
  listedAt: number | null,
]

/** A job and its exchange's hold, which becomes its own; answers false when the job is known already. */
export type OpenJobOperation = readonly [
  kind: 'open-job',
  provider: string,
  jobKind: string,
  id: string,
  exchangeId: string,
  sequence: number,
  accountId: string,
  keyId: string,
  credential: string,
  dialect: string,
  operation: string,
  model: string,
  facts: string,
  nextPollAt: number,
  deadlineAt: number,
  at: number,
]

/** The end of a job and of its hold, as one step. */
export type EndJobOperation = readonly [
  kind: 'end-job',
  provider: string,
  jobKind: string,
  id: string,
  ending: ChargeOperation | ReleaseOperation,
]

/** Answers jobs that are due, and lends them until then. */
type DueJobsOperation = readonly [kind: 'due-jobs', until: number, now: number, limit: number]

type PostponeJobOperation = readonly [
  kind: 'postpone-job',
  nextPollAt: number,
  provider: string,
  jobKind: string,
  id: string,
]

/** A new account, as a tuple. */
export type AccountOperation = readonly [
  kind: 'account',
  id: string,
  userId: string,
  email: string,
  name: string | null,
  at: number,
]

/** Money for an account, as a tuple; answers whether it was booked just now, and not before. */
export type CreditOperation = readonly [
  kind: 'credit',
  id: string,
  accountId: string,
  amountMicros: number,
  reason: string,
  at: number,
  source: CreditSource,
]

/** Money that an account gives back, as a tuple; answers as a credit. That it is there was decided before. */
export type DebitOperation = readonly [
  kind: 'debit',
  id: string,
  accountId: string,
  amountMicros: number,
  reason: string,
  at: number,
  source: CreditSource,
]

/** A new key, as a tuple. */
export type KeyOperation = readonly [
  kind: 'key',
  id: string,
  accountId: string,
  digest: string,
  name: string,
  lastFour: string,
  models: string | null,
  budgetMicros: number | null,
  budgetPeriod: string | null,
  expiresAt: number | null,
  ipAddresses: string | null,
  createdAt: number,
  activeKeysMax: number | null,
]

/** Statements that are rare and need no form of their own; answers the rows of the last one. */
type StatementsOperation = readonly [kind: 'statements', statements: readonly SqlStatement[]]

/** A statement with the number of rows that it must find, or an operation of the ledger. */
export type TransactionStep =
  | readonly [kind: 'write', sql: string, values: readonly (string | number | null)[], rows: number | null]
  | CreditOperation
  | DebitOperation

/** Steps that are written together or not at all. */
type TransactionOperation = readonly [kind: 'transaction', steps: readonly TransactionStep[]]

/** What a transaction answers: the rows of each step, and which steps booked money just now. */
export interface TransactionAnswer {
  readonly rows: readonly (readonly unknown[])[]
  readonly booked: readonly number[]
}

/** How a batch ended: as a whole, and for the operations that had an answer or were refused by themselves. */
export interface BatchReport {
  /** Nothing of the batch was written: the disk is full, or worse. */
  readonly error?: { readonly code: string; readonly message: string }
  readonly answers: readonly (readonly [index: number, answer: unknown])[]
  readonly refusals: readonly (readonly [index: number, code: string, message: string])[]
}

/** A hold that the last process left open. Whether its exchange cost anything is not known. */
export interface ReleasedHold {
  readonly exchangeId: string
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  readonly likelyMicros: number
  readonly createdAt: number
}

/** A row of `keys`. */
export interface KeyRow {
  readonly id: string
  readonly account_id: string
  readonly digest: string
  readonly name: string
  readonly last_four: string
  readonly models: string | null
  readonly budget_micros: number | null
  readonly budget_period: 'total' | 'day' | 'week' | 'month' | null
  readonly expires_at: number | null
  readonly ip_addresses: string | null
  readonly revoked_at: number | null
  /** Of its account. */
  readonly blocked_at: number | null
  readonly created_at: number
}

/** What an open job holds. */
export type JobHold = readonly [
  provider: string,
  jobKind: string,
  id: string,
  exchangeId: string,
  sequence: number,
  accountId: string,
  keyId: string,
  likelyMicros: number,
  worstMicros: number,
]

/** What a writer knows when it begins, for the memory of the thread that decides. */
export interface StoreSnapshot {
  /** Whether the store was made just now. */
  readonly isNew: boolean
  /** Net of what is owed. */
  readonly balances: readonly (readonly [accountId: string, netMicros: number, paidMicros: number])[]
  readonly spending: readonly (readonly [keyId: string, day: number, spentMicros: number])[]
  readonly priceHashes: readonly string[]
  readonly releasedHolds: readonly ReleasedHold[]
  readonly jobHolds: readonly JobHold[]
}

/** What the writing thread is started with. */
export interface WriterOptions {
  readonly file: string
  /** The moment of the start, for the holds that recovery releases. */
  readonly now: number
}

/** What the writing thread says: once how it started, then how each batch went. */
export type WriterMessage =
  | { readonly kind: 'ready'; readonly snapshot: StoreSnapshot }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'report'; readonly report: BatchReport }
