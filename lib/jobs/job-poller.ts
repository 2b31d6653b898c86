import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Ledger, ObjectLedger } from '../ledger/ledger.ts'
import type { NamedObject } from '../money/usage.ts'
import { dialects } from '../routes/find-route.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import { askJob, askResults, type JobAnswer } from './ask-job.ts'
import { endJob, giveUpJob, type JobEnd } from './end-job.ts'
import type { Job, JobLedger } from '../ledger/job.ts'
import { StoreRent } from './store-rent.ts'
import { findJobKind, isRent, type RentKind } from './submitted-job.ts'

/** How often jobs are polled, in milliseconds. */
export interface PollTimes {
  /** The wait after the first poll; it doubles with each. */
  readonly pollMs: number
  readonly pollMsMax: number
}

interface JobPollerOptions extends PollTimes {
  readonly config: Config
  readonly ledger: JobLedger & Pick<ObjectLedger, 'recordObject'> & Pick<Ledger, 'placeHold' | 'recordPrices'>
  readonly upstreams: Upstreams
  readonly clock: Clock
  readonly onEnd: (end: JobEnd) => void
  readonly onAlarm: (code: 'vector_store_unpaid' | 'vector_store_deleted', job: Job) => void
  /** A poll failed; the job is polled again later. Without a job, the store could not be read. */
  readonly onFailure: (job: Job | undefined, error: unknown) => void
}

const tickMsMax = 1000
const requestsAtOnce = 16
/** Between rounds while more jobs are due than can be polled at once. */
const tickMsMin = 20
/** The longest that one poll takes, including the results of a large batch. */
const requestTimeoutMs = 15 * 60_000
/** A provider may not know a new job for a while; after this time, and this many polls, the job is gone. */
const goneMs = 60 * 60_000
const gonePolls = 8

/**
 * Polls jobs whose clients may never do so, and charges each when its end is seen. The ledger leases jobs, so that only
 * one of several nodes polls each of them.
 */
export class JobPoller {
  readonly #options: JobPollerOptions
  readonly #stop = new AbortController()
  readonly #rent: StoreRent
  readonly #asking = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #isDraining = false
  #areMoreDue = false
  #looking: Promise<void> | undefined

  constructor(options: JobPollerOptions) {
    this.#options = options
    this.#rent = new StoreRent(options)
  }

  start(): void {
    this.#schedule()
  }

  /** Starts no more polls. */
  drain(): void {
    this.#isDraining = true
    clearTimeout(this.#timer)
  }

  /** Aborts running polls; the jobs stay open, for the next start. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the gateway stops'))
    clearTimeout(this.#timer)
    await this.#looking
    await Promise.all(this.#asking)
  }

  /** Polls one job now, whether it is due or not. Never throws: a poll that fails is repeated later. */
  look(job: Job): Promise<void> {
    return this.#look(job, true)
  }

  async #look(job: Job, mayBeStreaming: boolean): Promise<void> {
    const kind = findJobKind(dialects[job.dialect].jobKinds, job.kind)
    if (isRent(kind)) return this.#checkRent(job, kind)
    let answer: JobAnswer | 'ended'
    try {
      answer = await this.#ask(job, mayBeStreaming)
    } catch (error) {
      if (this.#stop.signal.aborted) return this.#release(job)
      this.#options.onFailure(job, error)
      answer = 'unknown'
    }
    try {
      // The node that reads its stream has leased it.
      const isLeased = mayBeStreaming && job.facts.isStreamed === true
      if (answer !== 'ended' && !isLeased) await this.#goOn(job, answer)
    } catch (error) {
      // The lease ends by itself.
      this.#options.onFailure(job, error)
    }
  }

  async #checkRent(job: Job, kind: RentKind): Promise<void> {
    try {
      await this.#rent.look(job, kind, this.#signal())
    } catch (error) {
      if (this.#stop.signal.aborted) return this.#release(job)
      // The lease ends by itself, and then the job is polled again.
      this.#options.onFailure(job, error)
    }
  }

  #signal(): AbortSignal {
    return AbortSignal.any([this.#stop.signal, AbortSignal.timeout(requestTimeoutMs)])
  }

  /** Ends the lease, so that the next poll need not wait for that. */
  async #release(job: Job): Promise<void> {
    try {
      await this.#options.ledger.postponeJob(job, this.#options.clock.now())
    } catch (error) {
      this.#options.onFailure(job, error)
    }
  }

  #schedule(): void {
    if (this.#isDraining || this.#stop.signal.aborted) return
    const tickMs = this.#areMoreDue ? tickMsMin : Math.min(tickMsMax, this.#options.pollMs)
    this.#timer = setTimeout(() => {
      this.#looking = this.#lookAround().finally(() => this.#schedule())
    }, tickMs)
    this.#timer.unref()
  }

  async #lookAround(): Promise<void> {
    const free = requestsAtOnce - this.#asking.size
    if (free === 0) return
    try {
      const jobs = await this.#options.ledger.dueJobs(free, requestTimeoutMs + this.#options.pollMsMax)
      this.#areMoreDue = jobs.length === free
      for (const job of jobs) {
        // A streamed job is due only when no node has read its stream for long.
        const asking = this.#look(job, false).finally(() => this.#asking.delete(asking))
        this.#asking.add(asking)
      }
    } catch (error) {
      this.#areMoreDue = false
      this.#options.onFailure(undefined, error)
    }
  }

  async #ask(job: Job, mayBeStreaming: boolean): Promise<JobAnswer | 'ended'> {
    const { config, upstreams, ledger, onEnd, onFailure } = this.#options
    const context = { config, upstreams, onFailure, signal: this.#signal() }
    const seen = { ledger, onEnd, mayBeStreaming }
    const answer = await askJob(context, job)
    if (typeof answer === 'string') return answer
    await this.#record(job, answer.objects)
    const state = await endJob(seen, job, answer.reading)
    if (typeof state === 'string') return state === 'ended' ? state : answer
    const results = await askResults(context, job, state.resultsPath)
    if (typeof results === 'string') return results
    const { reading } = results
    const isLost = answer.reading.job?.isFinal === true && reading.job?.state === 'running'
    const last = isLost ? { ...reading, job: { ...reading.job, state: 'failed' as const } } : reading
    return (await endJob(seen, job, last)) === 'ended' ? 'ended' : results
  }

  /** What the job has created belongs to its account and its lists, even when no client polls it. */
  async #record(job: Job, objects: readonly NamedObject[]): Promise<void> {
    const { provider, accountId, credential, exchangeId, dialect } = job
    const made = { provider, accountId, credential, exchangeId, dialect }
    for (const { kind, id, facts } of objects)
      await this.#options.ledger.recordObject({ ...made, kind, id, ...(facts !== undefined && { facts }) })
  }

  /** Gives up on a job that must have ended by now, or that its provider has forgotten; otherwise polls again later. */
  async #goOn(job: Job, answer: JobAnswer): Promise<void> {
    const { ledger, clock, onEnd, pollMs, pollMsMax } = this.#options
    const now = clock.now()
    if (this.#isOverdue(job, now) || (answer === 'gone' && isGone(job, now))) {
      await giveUpJob({ ledger, onEnd }, job)
      return
    }
    // Twice as long each time, plus or minus a fifth, so that jobs of the same moment spread out.
    const waitMs = Math.min(pollMsMax, pollMs * 2 ** Math.min(job.polls, 20)) * (0.8 + 0.4 * Math.random())
    const next = now + Math.round(waitMs)
    await ledger.postponeJob(job, now < job.deadlineAt ? Math.min(next, job.deadlineAt) : next)
  }

  /** A clock that was set forward is not enough: the job was also polled at least half as often as its time allows. */
  #isOverdue({ createdAt, deadlineAt, polls }: Job, now: number): boolean {
    return now >= deadlineAt && polls >= (deadlineAt - createdAt) / this.#options.pollMsMax / 2
  }
}

function isGone({ createdAt, polls }: Job, now: number): boolean {
  return now - createdAt > goneMs && polls >= gonePolls
}
