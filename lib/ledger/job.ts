import type { DialectName } from '../dialects/dialect.ts'
import type { Micros } from '../money/amount.ts'
import type { Meters, ObjectKind } from '../money/usage.ts'
import type { Price } from '../money/price.ts'
import type { ChargeRequest, ChargeResult, Hold } from './ledger.ts'

/** What a job's charge will need, and cannot be asked of anybody later. */
export interface JobFacts {
  /** The name the provider was asked for; empty where the request named no model. */
  readonly upstreamModel: string
  /**
   * The versions (hashes) of the prices in force when the job was submitted, by the model's name at the
   * provider. The empty name stands for every other model.
   */
  readonly priceVersions: Readonly<Record<string, string>>
  /** Units known from the request, such as seconds of video, and the variant they are priced by. */
  readonly units?: Meters
  readonly variant?: string
  /** How many images each request of a batch begins from. */
  readonly imagesGiven?: number
  /** How many of what it makes those units are of; 1 unless said. */
  readonly candidates?: number
  /**
   * Of a batch, by the names of `priceVersions`: what one of its requests is taken to read, and in `output` the most that
   * can be written for it. For results without a usage.
   */
  readonly each?: Readonly<Record<string, Meters>>
  /** Where the requests of a batch go, which says what their results look like. */
  readonly endpoint?: string
  /** Of a part of a batch: the ids that its requests were given, by which their results are known. */
  readonly requestIds?: readonly string[]
  /** Of the provider, by their types: what it may run for the job. */
  readonly tools?: readonly string[]
  /** What its request gives a model to read, as far as that can be told before: for an end without a usage. */
  readonly read?: Meters
  /** The tier of service that was asked for, which is charged where no response names one. */
  readonly wantedTier?: string
  /** The submission was answered by a stream, which tells what was said of the job while it lasts. */
  readonly isStreamed?: boolean
}

/** Which job: ids are unique within a kind of one provider. */
export interface JobName {
  readonly provider: string
  readonly kind: ObjectKind
  readonly id: string
}

/** A job as its submission leaves it: work that a provider goes on with after it has answered. */
export interface NewJob extends JobName {
  /** The credential's name in the config, never its value: only with it can the job be asked after. */
  readonly credential: string
  readonly dialect: DialectName
  /** The operation that submitted it, as the charge will name it. */
  readonly operation: string
  /** By its canonical name in the config; empty without a model. */
  readonly model: string
  readonly facts: JobFacts
  /** Milliseconds since the epoch. */
  readonly nextPollAt: number
  /** When its final state is given up on. */
  readonly deadlineAt: number
}

/**
 * The money of work that goes on after its exchange. A job has the hold of its submission, which stays open
 * over restarts, until the job is charged or released: once, whoever sees its end first, on whichever node.
 */
export interface JobLedger {
  /**
   * Makes an exchange's hold the job's. Resolves when that is on the disk, in both modes of durability.
   * @returns false for a job that is known already, as after a submission that the provider found repeated;
   * then the hold is released
   * @throws LedgerUnavailableError when it cannot be written in time; it is tried on
   */
  openJob(hold: Hold, job: NewJob): Promise<boolean>
  /** The job by its name, whatever its state. */
  findJob(name: JobName): Promise<Job | undefined>
  /**
   * Open jobs whose time to be asked after has come, the longest due first. They are lent for `leaseMs`: no
   * other call, on no node, answers them meanwhile.
   */
  dueJobs(limit: number, leaseMs: number): Promise<readonly Job[]>
  /**
   * Charges an open job and ends it, as one step. Resolves when that is on the disk (`strict`) or queued.
   * @returns undefined when it had ended already, which is no error
   */
  chargeJob(job: Job, charge: ChargeRequest): Promise<ChargeResult | undefined>
  /** Gives the hold of an open job back and ends it, as durably; answers whether it was open. */
  releaseJob(job: Job): Promise<boolean>
  /** Counts one more time that the job was asked after, and says when to ask again. */
  postponeJob(job: Job, nextPollAt: number): Promise<void>
  /** Prices by their hash, as they were when they were in force; those that are not known are left out. */
  findPrices(hashes: readonly string[]): Promise<ReadonlyMap<string, Price>>
}

/** A job and the hold that waits for its end. */
export interface Job extends NewJob {
  /** The submission's, whose hold it has. */
  readonly exchangeId: string
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  readonly heldMicros: Micros
  readonly state: 'open' | 'charged' | 'released'
  /** How often the gateway itself has asked after it. */
  readonly polls: number
  readonly createdAt: number
}
