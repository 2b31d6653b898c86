import type { Job, JobName, NewJob } from '../ledger/job.ts'
import type { Balance, ChargeRequest, ChargeResult, HeldSums, HoldRequest, Micros } from '../ledger/ledger.ts'
import type {
  ListedObject,
  ObjectQuery,
  ProviderObject,
  ProviderObjectName,
} from '../ledger/object-ledger.ts'
import type { Price } from '../money/price.ts'
import type { Meters, ObjectKind, UsageLine } from '../money/usage.ts'
import type { ErrorMessage } from './error-message.ts'

/** A charge on its way to the ledger: its prices by their hash. */
export interface SentCharge extends Omit<ChargeRequest, 'lines'> {
  readonly lines: readonly { readonly usage: UsageLine; readonly priceHash: string }[]
}

/** What became of a hold that was placed; its worst cost is the one that counts. */
export interface PlacedHold {
  readonly worstMicros: Micros
  readonly isDurable: boolean
}

/** What a worker asks of the process that has the ledger. Holds are named by numbers of the worker's own. */
export type LedgerOperations = {
  /** What of it is not durable yet is followed by `holdDurable` or `holdFailed`. */
  placeHold(holdId: number, request: HoldRequest): Promise<PlacedHold>
  /** Answers the hold's totals from now on. */
  growHold(holdId: number, totals: HeldSums): Promise<HeldSums>
  charge(holdId: number, charge: SentCharge): Promise<ChargeResult>
  release(holdId: number): Promise<void>
  openJob(holdId: number, job: NewJob): Promise<boolean>
  /** Prices that charges of this worker are about to name. */
  knowPrices(prices: readonly Price[]): void
  recordPrices(prices: readonly Price[]): Promise<void>
  recordObject(object: ProviderObject): Promise<void>
  findObject(provider: string, kind: ObjectKind, id: string): Promise<ProviderObject | undefined>
  listObjects(query: ObjectQuery): Promise<readonly ListedObject[]>
  unlistObject(name: ProviderObjectName): Promise<void>
  findUsage(exchangeId: string): Promise<Meters>
  balance(accountId: string): Promise<Balance>
  findJob(name: JobName): Promise<Job | undefined>
  dueJobs(limit: number, leaseMs: number): Promise<readonly Job[]>
  chargeJob(job: Job, charge: SentCharge): Promise<ChargeResult | undefined>
  releaseJob(job: Job): Promise<boolean>
  postponeJob(job: Job, nextPollAt: number): Promise<void>
  findPrices(hashes: readonly string[]): Promise<ReadonlyMap<string, Price>>
}

/** What the worker is told of its holds. */
export type HoldNews = {
  holdDurable(holdId: number): void
  holdFailed(holdId: number, error: ErrorMessage): void
}
