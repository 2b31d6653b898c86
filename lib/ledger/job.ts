import type { DialectName } from '../dialects/dialect.ts'
import type { Micros } from '../money/amount.ts'
import type { Meters, ObjectKind } from '../money/usage.ts'
import type { Price } from '../money/price.ts'
import type { ChargeRequest, ChargeResult, Hold } from './ledger.ts'

/** What a job's charge needs, and cannot be obtained later. */
export interface JobFacts {
  /** The model's name in the request to the provider; empty when the request named no model. */
  readonly upstreamModel: string
  /**
   * The versions (hashes) of the prices in force when the job was submitted, by the model's name at the provider. The
   * empty name means every other model.
   */
  readonly priceVersions: Readonly<Record<string, string>>
  /** Units known from the request, such as seconds of video, and the variant they are priced by. */
  readonly units?: Meters
  readonly variant?: string
  /** How many images each request of a batch begins with. */
  readonly imagesGiven?: number
  /** How many results those units are for; 1 by default. */
  readonly candidates?: number
  /**
   * For a batch, by the names of `priceVersions`: what one of its requests is assumed to read, and in `output` the most
   * that can be written for it. For results without a usage.
   */
  readonly each?: Readonly<Record<string, Meters>>
  /** The endpoint of a batch's requests, which determines the format of their results. */
  readonly endpoint?: string
  /** For a part of a batch: the ids that its requests were given, which identify their results. */
  readonly requestIds?: readonly string[]
  /** The types of the provider's tools that may run for the job. */
  readonly tools?: readonly string[]
  /** What its request gives a model to read, as far as that is known beforehand: for an end without a usage. */
  readonly read?: Meters
  /** The tier of service that was requested, which is charged when no response names one. */
  readonly wantedTier?: string
  /** The response to the submission is a stream, which reports the job's output while it lasts. */
  readonly isStreamed?: boolean
}

/** Identifies a job: ids are unique within a kind of one provider. */
export interface JobName {
  readonly provider: string
  readonly kind: ObjectKind
  readonly id: string
}

/** A job as its submission leaves it: work that a provider continues after it has responded. */
export interface NewJob extends JobName {
  /** The credential's name in the config, never its value: only with it can the job be polled. */
  readonly credential: string
  readonly dialect: DialectName
  /** The operation that submitted it, as the charge will name it. */
  readonly operation: string
  /** The model's canonical name in the config; empty without a model. */
  readonly model: string
  readonly facts: JobFacts
  /** Milliseconds since the epoch. */
  readonly nextPollAt: number
  /** When the gateway stops waiting for its final state. */
  readonly deadlineAt: number
}

/**
 * The money of work that goes on after its exchange. A job has the hold of its submission, which stays open across
 * restarts, until the job is charged or released: once, by the first node that sees its end.
 */
export interface JobLedger {
  /**
   * Transfers an exchange's hold to the job. Resolves when that is on disk, in both modes of durability.
   * @returns false for a job that is known already, as after a submission that the provider found repeated; then the
   * hold is released
   * @throws LedgerUnavailableError when it cannot be written in time; it is retried
   */
  openJob(hold: Hold, job: NewJob): Promise<boolean>
  /** The job by its name, whatever its state. */
  findJob(name: JobName): Promise<Job | undefined>
  /**
   * Open jobs that are due to be polled, the longest due first. They are leased for `leaseMs`: no other call, on any
   * node, returns them meanwhile.
   */
  dueJobs(limit: number, leaseMs: number): Promise<readonly Job[]>
  /**
   * Charges an open job and ends it, as one step. Resolves when that is on disk (`strict`) or queued.
   * @returns undefined when it had ended already, which is not an error
   */
  chargeJob(job: Job, charge: ChargeRequest): Promise<ChargeResult | undefined>
  /** Releases the hold of an open job and ends it, with the same durability; resolves with whether it was open. */
  releaseJob(job: Job): Promise<boolean>
  /** Counts one more poll of the job, and sets the time of the next. */
  postponeJob(job: Job, nextPollAt: number): Promise<void>
  /** Prices by their hash, as they were when they were in force; unknown ones are left out. */
  findPrices(hashes: readonly string[]): Promise<ReadonlyMap<string, Price>>
}

/** A job and the hold that waits for its end. */
export interface Job extends NewJob {
  /** The exchange of the submission, whose hold the job has. */
  readonly exchangeId: string
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  readonly heldMicros: Micros
  readonly state: 'open' | 'charged' | 'released'
  /** How often the gateway itself has polled it. */
  readonly polls: number
  readonly createdAt: number
}
