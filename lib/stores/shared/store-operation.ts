import type { CreditSource } from '../../accounts/accounts.ts'
import type { JobName, NewJob } from '../../ledger/job.ts'
import type { ChargeResult, HoldRequest, Micros, ProviderObject, ChargeRequest } from '../../ledger/ledger.ts'
import type { ObjectKind } from '../../money/usage.ts'
import type { SqlStatement } from './store-queries.ts'
import type { ChargeLine } from '../../ledger/price-charge.ts'

/**
 * An operation for the writer. Its statements bind their values by the names of an operation's members; operations of
 * one kind always have these in one order, since they cross to another thread by the thousand.
 */
export type StoreOperation =
  | HoldOperation
  | GrowOperation
  | ChargeOperation
  | ReleaseOperation
  | PriceOperation
  | ObjectOperation
  | MovementOperation
  | JobOperation
  | EndJobOperation
  | StatementsOperation
  | TransactionOperation

/** Identifies a hold, its account and its key. */
export type HoldOwner = Pick<HoldRequest, 'exchangeId' | 'sequence' | 'accountId' | 'keyId'>

/** The hold of an open job. */
export type JobHold = Omit<HoldRequest, 'budget' | 'strictMicros'>

export interface HoldOperation extends JobHold {
  readonly kind: 'hold'
  readonly owner: string
  readonly at: number
  readonly expiresAt: number
}

/** The new amounts of an open hold. */
export interface GrowOperation extends Omit<JobHold, 'accountId' | 'keyId'> {
  readonly kind: 'grow'
}

/** A charge that ends its hold. Lines, details and flags are JSON. */
export interface ChargeOperation extends HoldOwner, Omit<ChargeResult, 'flags'> {
  readonly kind: 'charge'
  readonly at: number
  readonly provider: string
  readonly model: string
  readonly dialect: string
  readonly operation: string
  readonly outcome: string
  readonly usageSource: string
  readonly lines: string
  readonly rawUsage: string | null
  readonly details: string | null
  readonly flags: string
}

/** The end of a hold without a charge. */
export interface ReleaseOperation extends Omit<HoldOwner, 'keyId'> {
  readonly kind: 'release'
  readonly state: 'released' | 'expired'
  readonly at: number
}

export interface PriceOperation {
  readonly kind: 'price'
  readonly hash: string
  readonly model: string
  readonly body: string
  readonly at: number
}

export interface ObjectOperation extends Omit<ProviderObject, 'kind' | 'dialect' | 'facts'> {
  readonly kind: 'object'
  readonly objectKind: ObjectKind
  readonly dialect: string | null
  readonly facts: string | null
  readonly at: number
  readonly listedAt: number | null
}

/** Names a job; `kind` is the kind of the operation. */
interface NamedJob extends Omit<JobName, 'kind'> {
  readonly jobKind: ObjectKind
}

/** A new job, which takes over its exchange's hold; the result is false when the job is already known. */
export interface JobOperation extends HoldOwner, NamedJob, Omit<NewJob, 'kind' | 'facts'> {
  readonly kind: 'job'
  readonly facts: string
  readonly at: number
}

/** Ends a job and its hold as one step. */
export interface EndJobOperation extends NamedJob {
  readonly kind: 'end-job'
  readonly ending: ChargeOperation | ReleaseOperation
}

/**
 * Money that comes in or goes out; the result is whether this operation booked it, and not an earlier one. The writer
 * does not check that an account has the money that goes out.
 */
export interface MovementOperation {
  readonly kind: 'credit' | 'debit'
  /** Identifies the movement: `payment:<id>`. */
  readonly id: string
  readonly accountId: string
  readonly amountMicros: Micros
  readonly reason: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly source: CreditSource
}

/** Rare statements without an operation of their own; the result is the rows of the last one. */
interface StatementsOperation {
  readonly kind: 'statements'
  readonly statements: readonly SqlStatement[]
}

/** A statement with the number of rows that it must find. */
export interface WriteStep extends SqlStatement {
  readonly kind: 'write'
  readonly rows: number | null
}

/** A statement, or an operation of the ledger. */
export type TransactionStep = WriteStep | MovementOperation

/** Steps that are written together or not at all. */
interface TransactionOperation {
  readonly kind: 'transaction'
  readonly steps: readonly TransactionStep[]
}

/** The result of a transaction: the rows of each step, and the indexes of the steps that booked money. */
export interface TransactionAnswer {
  readonly rows: readonly (readonly unknown[])[]
  readonly booked: readonly number[]
}

/** How a batch ended: as a whole, and for each operation that has a result or was refused on its own. */
export interface BatchReport {
  /** Nothing of the batch was written: the disk is full, for example. */
  readonly error?: { readonly code: string; readonly message: string }
  readonly answers: readonly (readonly [index: number, answer: unknown])[]
  readonly refusals: readonly (readonly [index: number, code: string, message: string])[]
}

/** A hold that the last process left open. Whether its exchange cost anything is unknown. */
export interface ReleasedHold extends Omit<JobHold, 'worstMicros'> {
  readonly createdAt: number
}

/** What a writer reads when it starts, for the memory of the thread that decides. */
export interface StoreSnapshot {
  /** Whether opening it created the store. */
  readonly isNew: boolean
  /** Net of debt. */
  readonly balances: readonly (readonly [accountId: string, netMicros: number, paidMicros: number])[]
  readonly spending: readonly (readonly [keyId: string, day: number, spentMicros: number])[]
  readonly priceHashes: readonly string[]
  readonly releasedHolds: readonly ReleasedHold[]
  readonly jobHolds: readonly (JobName & JobHold)[]
}

/** Options of the writing thread. */
export interface WriterOptions {
  readonly file: string
  /** The time of the start, for the holds that recovery releases. */
  readonly now: number
}

/** Messages of the writing thread: one about its start, then one for each batch. */
export type WriterMessage =
  | { readonly kind: 'ready'; readonly snapshot: StoreSnapshot }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'report'; readonly report: BatchReport }

/** Replaces NUL and lone surrogates, which PostgreSQL's text cannot hold and a provider may send. */
export function storable(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text).toWellFormed()
}

/** What a charge stores beside its lines. */
type ChargeDetails = Pick<ChargeRequest, 'details' | 'providerRequestId'>

/** A charge as an operation for SQLite's writer. */
export function chargeOperation(
  hold: HoldOwner,
  at: number,
  request: ChargeRequest,
  lines: readonly ChargeLine[],
  { amountMicros, overrunMicros, flags }: ChargeResult,
): ChargeOperation {
  return {
    kind: 'charge',
    exchangeId: hold.exchangeId,
    sequence: hold.sequence,
    accountId: hold.accountId,
    keyId: hold.keyId,
    at,
    provider: request.provider,
    model: request.model,
    dialect: request.dialect,
    operation: request.operation,
    outcome: request.outcome,
    usageSource: request.usageSource,
    lines: JSON.stringify(lines),
    rawUsage: request.rawUsage ?? null,
    details: writeDetails(request),
    flags: flags.length === 0 ? '[]' : JSON.stringify(flags),
    amountMicros,
    overrunMicros,
  }
}

/** The end of a hold without a charge, as an operation for SQLite's writer. */
export function releaseOperation(
  { exchangeId, sequence, accountId }: HoldOwner,
  state: ReleaseOperation['state'],
  at: number,
): ReleaseOperation {
  return { kind: 'release', exchangeId, sequence, accountId, state, at }
}

/** The value of the column: the counts, with the provider's request id among them. */
export function writeDetails({ details, providerRequestId }: ChargeDetails): string | null {
  if (providerRequestId === undefined) return details === undefined ? null : JSON.stringify(details)
  return JSON.stringify({ ...details, providerRequestId: storable(providerRequestId) })
}

export function readDetails(column: string | null): ChargeDetails {
  if (column === null) return {}
  const { providerRequestId, ...details } = JSON.parse(column) as Record<string, number> & {
    providerRequestId?: string
  }
  return {
    ...(Object.keys(details).length > 0 && { details }),
    ...(providerRequestId !== undefined && { providerRequestId }),
  }
}
