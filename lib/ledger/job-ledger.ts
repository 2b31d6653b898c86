import type { Job, JobName, NewJob } from './job.ts'
import type { Price } from '../money/price.ts'
import type { ChargeRequest, ChargeResult, Hold } from './ledger.ts'

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
