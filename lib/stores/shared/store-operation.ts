import type { CreditSource } from '../../accounts/accounts.ts'
import type { JobName, NewJob } from '../../ledger/job.ts'
import type { ChargeResult, HoldRequest, Micros, ProviderObject, ChargeRequest } from '../../ledger/ledger.ts'
import type { ObjectKind } from '../../money/usage.ts'
import type { SqlStatement } from './store-queries.ts'
import type { ChargeLine } from '../../ledger/price-charge.ts'

/**
 * What the writer is asked to do. Its statements take their values from an operation by the names of its members;
 * those of one kind always come in one order, since operations cross to another thread by the thousand.
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

/** Which hold, and whose. */
export type HoldOwner = Pick<HoldRequest, 'exchangeId' | 'sequence' | 'accountId' | 'keyId'>

/** What an open job holds. */
export type JobHold = Omit<HoldRequest, 'budget' | 'strictMicros'>

export interface HoldOperation extends JobHold {
  readonly kind: 'hold'
  readonly owner: string
  readonly at: number
  readonly expiresAt: number
}

/** What an open hold comes to from now on. */
export interface GrowOperation extends Omit<JobHold, 'accountId' | 'keyId'> {
  readonly kind: 'grow'
}

/** A charge with the end of its hold. Lines, details and flags are JSON. */
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

/** The end of a hold that is not charged. */
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

/** Which job, beside the operation's own kind. */
interface NamedJob extends Omit<JobName, 'kind'> {
  readonly jobKind: ObjectKind
}

/** A job and its exchange's hold, which becomes its own; answers false when the job is known already. */
export interface JobOperation extends HoldOwner, NamedJob, Omit<NewJob, 'kind' | 'facts'> {
  readonly kind: 'job'
  readonly facts: string
  readonly at: number
}

/** The end of a job and of its hold, as one step. */
export interface EndJobOperation extends NamedJob {
  readonly kind: 'end-job'
  readonly ending: ChargeOperation | ReleaseOperation
}

/**
 * Money that comes in or goes out; answers whether it was booked just now, and not before. The writer does not check
 * that an account has what goes out.
 */
export interface MovementOperation {
  readonly kind: 'credit' | 'debit'
  /** By which the movement is known: `payment:<id>`. */
  readonly id: string
  readonly accountId: string
  readonly amountMicros: Micros
  readonly reason: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly source: CreditSource
}

/** Statements that are rare and need no form of their own; answers the rows of the last one. */
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
export interface ReleasedHold extends Omit<JobHold, 'worstMicros'> {
  readonly createdAt: number
}

/** What a writer knows when it begins, for the memory of the thread that decides. */
export interface StoreSnapshot {
  /** Whether the store was made just now. */
  readonly isNew: boolean
  /** Net of what is owed. */
  readonly balances: readonly (readonly [accountId: string, netMicros: number, paidMicros: number])[]
  readonly spending: readonly (readonly [keyId: string, day: number, spentMicros: number])[]
  readonly priceHashes: readonly string[]
  readonly releasedHolds: readonly ReleasedHold[]
  readonly jobHolds: readonly (JobName & JobHold)[]
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

/** PostgreSQL's text holds no NUL and no half of a surrogate pair; what a provider sends may. */
export function storable(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text).toWellFormed()
}

/** What a charge keeps beside its lines. */
type ChargeDetails = Pick<ChargeRequest, 'details' | 'providerRequestId'>

/** A charge as SQLite's writer takes it. */
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

/** The end of a hold that is not charged, as SQLite's writer takes it. */
export function releaseOperation(
  { exchangeId, sequence, accountId }: HoldOwner,
  state: ReleaseOperation['state'],
  at: number,
): ReleaseOperation {
  return { kind: 'release', exchangeId, sequence, accountId, state, at }
}

/** As the column has it: the counts, and the provider's request id among them. */
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
