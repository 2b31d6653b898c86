import type { Clock } from '../platform/clock.ts'
import type { ChargeRequest, ChargeResult, Hold, Ledger } from '../ledger/ledger.ts'
import type { Price } from '../money/price.ts'
import type { Job, NewJob } from '../ledger/job.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** The job that the exchange's own stream is about, and which has its hold. */
    streamedJob: StreamedJob
  }
}

interface StreamedJobOptions {
  readonly ledger: Ledger
  readonly clock: Clock
  /** For how long nobody else asks after it; the loan is made longer for as long as the stream goes on. */
  readonly loanMs: number
  /** Those that the job names by their versions. */
  readonly prices: readonly Price[]
  readonly onFailure: (job: Job, error: unknown) => void
}

/**
 * Work whose stream has begun. It goes on whatever becomes of the stream and of this process, so it has the
 * exchange's hold from the moment its name came. The stream tells its end, and what it said until then; the
 * gateway asks when there is no stream any more.
 */
export class StreamedJob {
  readonly #options: StreamedJobOptions
  readonly #opening: Promise<Job | undefined>
  #timer: NodeJS.Timeout | undefined

  constructor(options: StreamedJobOptions, hold: Hold, job: NewJob) {
    this.#options = options
    this.#opening = this.#open(hold, job)
  }

  /** Resolves when it is on the disk. */
  async opened(): Promise<void> {
    await this.#opening
  }

  /** Undefined when somebody else has charged it. */
  async charge(request: ChargeRequest): Promise<ChargeResult | undefined> {
    const job = await this.#end()
    return job && this.#options.ledger.chargeJob(job, request)
  }

  async release(): Promise<void> {
    const job = await this.#end()
    if (job !== undefined) await this.#options.ledger.releaseJob(job)
  }

  /** The stream is over and the work is not: the gateway asks after it. */
  async leave(waitMs: number): Promise<void> {
    const job = await this.#end()
    const { ledger, clock } = this.#options
    if (job !== undefined) await ledger.postponeJob(job, clock.now() + waitMs)
  }

  async #open(hold: Hold, job: NewJob): Promise<Job | undefined> {
    const { ledger, clock, loanMs, prices } = this.#options
    // It names them by their versions, which may be out of the config when it ends.
    await ledger.recordPrices(prices)
    const createdAt = clock.now()
    const facts = { ...job.facts, isStreamed: true }
    const lent = { ...job, facts, nextPollAt: createdAt + loanMs }
    // One that was known before has a hold, and this one's was given back.
    if (!(await ledger.openJob(hold, lent))) return undefined
    const { exchangeId, sequence, accountId, keyId, likelyMicros: heldMicros } = hold
    const names = { exchangeId, sequence, accountId, keyId }
    const opened: Job = { ...lent, ...names, heldMicros, state: 'open', polls: 0, createdAt }
    this.#timer = setInterval(() => this.#prolong(opened), loanMs / 2).unref()
    return opened
  }

  #prolong(job: Job): void {
    const { ledger, clock, loanMs, onFailure } = this.#options
    ledger.postponeJob(job, clock.now() + loanMs).catch((error: unknown) => onFailure(job, error))
  }

  async #end(): Promise<Job | undefined> {
    const job = await this.#opening
    clearInterval(this.#timer)
    return job
  }
}
