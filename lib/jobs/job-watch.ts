import { GatewayError } from '../pipeline/errors.ts'
import { chargeAlarms } from '../ledger/charge-flags.ts'
import { LedgerUnavailableError } from '../ledger/ledger.ts'
import type { ChargeRequest, ChargeResult, Hold, Ledger } from '../ledger/ledger.ts'
import { ModelDirectory } from '../models/model-directory.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../platform/clock.ts'
import type { Exchange, Outcome } from '../pipeline/exchange.ts'
import type { JobSighting, NamedObject, UsageReading } from '../money/usage.ts'
import { Upstreams, type UpstreamsContext } from '../upstream/upstreams.ts'
import { endJob, type JobEnd } from './end-job.ts'
import type { Job, JobName } from '../ledger/job.ts'
import { JobPoller, type PollTimes } from './job-poller.ts'
import { storeOf } from './store-rent.ts'
import { StreamedJob, jobPrices, submittedJob } from './submitted-job.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** The open job that the request is about. */
    job: Job
  }
}

declare module '../pipeline/events.ts' {
  interface PipelineEvents {
    /**
     * A job has ended, whoever saw it first.
     * @param modelEntry the config's name for its model, which clients do not choose; undefined for none
     */
    'job-end': (end: JobEnd, modelEntry: string | undefined) => void
    /** The store could not say which jobs are due, or write how one stands. */
    'job-store-failure': (job: Job | undefined, error: unknown) => void
  }
}

interface JobContext extends UpstreamsContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly clock: Clock
}

/** Sees to it that every job is charged once: what clients are told of it on the way, and what they never ask. */
export class JobWatch {
  readonly #context: JobContext
  readonly #upstreams: Upstreams
  readonly #poller: JobPoller
  readonly #times: PollTimes
  readonly #directory: ModelDirectory

  constructor(context: JobContext, times: PollTimes) {
    this.#context = context
    this.#times = times
    this.#directory = new ModelDirectory(context.config)
    this.#upstreams = Upstreams.shared(context.config, context)
    this.#poller = new JobPoller({
      ...context,
      ...times,
      upstreams: this.#upstreams,
      onEnd: end => this.#told(end),
      onAlarm: (code, job) => {
        const { provider, accountId: account, keyId: key } = job
        context.bus.emit('alarm', code, { provider, id: storeOf(job), account, key })
      },
      onFailure: this.#onFailure,
    })
  }

  readonly #onFailure = (job: Job | undefined, error: unknown): void => {
    const { bus } = this.#context
    // Such an alarm blames a provider; that the store is away has an alarm of its own.
    if (job === undefined || error instanceof LedgerUnavailableError) {
      bus.emit('job-store-failure', job, error)
      return
    }
    const { exchangeId: requestId, provider, kind } = job
    bus.emit('alarm', 'job_unanswered', { requestId, provider, kind, error })
  }

  start(): void {
    this.#poller.start()
  }

  /** Nothing new is asked; what is about to be deleted still is. */
  windUp(): void {
    this.#poller.windUp()
  }

  async stop(): Promise<void> {
    await this.#poller.stop()
    this.#upstreams.close()
  }

  /**
   * Finds the open job that a request is about, by the object that its path names.
   * @throws GatewayError request_invalid for one that would take away what tells of the end of its job
   */
  async onRequest(exchange: Exchange, object: NamedObject): Promise<void> {
    const { operation } = exchange.get('route').match
    const { provider } = exchange.get('target')
    const name = { ...object, provider: provider.name }
    if (operation.job === 'reads') {
      const job = await this.#context.ledger.findJob(name)
      if (job?.state === 'open') exchange.set('job', job)
    } else if (operation.job === 'ends') await this.#requireEnded(name)
    else if (object.kind === 'file' && exchange.request.method === 'DELETE') {
      const file = await this.#context.ledger.findObject(provider.name, object.kind, object.id)
      const batch = file?.facts?.resultsOf
      if (batch !== undefined) await this.#requireEnded({ provider: provider.name, kind: 'batch', id: batch })
    }
  }

  /** Nobody could say any more what a job has cost that is deleted while it is open. */
  async #requireEnded(name: JobName): Promise<void> {
    const { ledger } = this.#context
    const job = await ledger.findJob(name)
    if (job?.state !== 'open') return
    await this.#poller.look(job)
    if ((await ledger.findJob(name))?.state !== 'open') return
    throw new GatewayError(
      'request_invalid',
      `The ${name.kind} "${name.id}" has not ended, so it cannot be deleted, nor what it has made. Cancel it, or wait for its end.`,
    )
  }

  /** An answer has told the name of something: where a stream begins with that of its job, the hold is the job's. */
  async onObject(exchange: Exchange, { kind, id }: NamedObject): Promise<void> {
    const hold = exchange.find('hold')
    const { startsJob, isStreaming } = exchange.get('request')
    if (hold === undefined || startsJob !== true || !isStreaming) return
    if (exchange.find('streamedJob') !== undefined) return
    const { ledger, clock } = this.#context
    const job = submittedJob(exchange, { kind, id }, { now: clock.now(), pollMs: this.#times.pollMs })
    if (job === undefined) return
    const loanMs = this.#times.pollMsMax
    const prices = [...jobPrices(exchange).values()]
    const options = { ledger, clock, loanMs, prices, onFailure: this.#onFailure }
    const streamed = new StreamedJob(options, hold, job)
    exchange.set('streamedJob', streamed)
    await streamed.opened()
  }

  /** Charges an exchange, or the job that has its hold; undefined when somebody else has charged that. */
  charge(exchange: Exchange, hold: Hold, request: ChargeRequest): Promise<ChargeResult | undefined> {
    const streamed = exchange.find('streamedJob')
    return streamed === undefined ? this.#context.ledger.charge(hold, request) : streamed.charge(request)
  }

  /** Gives the hold of an exchange back, or that of the job which has it. */
  async release(exchange: Exchange, hold: Hold): Promise<void> {
    await (exchange.find('streamedJob')?.release() ?? this.#context.ledger.release(hold))
  }

  /**
   * Settles an exchange that has submitted a job, or is about one.
   * @returns whether its hold, where it has one, is settled with that; at once for an exchange without a job
   */
  settle(
    exchange: Exchange,
    outcome: Outcome,
    reading: UsageReading | undefined,
  ): boolean | Promise<boolean> {
    if (reading === undefined) return false
    const job = exchange.find('job')
    if (job !== undefined) {
      const isToldAll = outcome.kind === 'completed' || reading.isTerminal
      return isToldAll && hasWholeAnswer(exchange, reading) ? this.#endTold(job, reading) : false
    }
    const hold = exchange.find('hold')
    if (hold === undefined || reading.job === undefined || exchange.get('request').startsJob !== true)
      return false
    return this.#submit(exchange, hold, reading, reading.job)
  }

  /** The job's own hold is settled where the answer told its end; the exchange's never is with it. */
  async #endTold(job: Job, reading: UsageReading): Promise<boolean> {
    const state = await endJob(this.#endContext, job, reading)
    if (typeof state === 'object') {
      const { ledger, clock } = this.#context
      await ledger.postponeJob(job, clock.now())
    }
    return false
  }

  /** The work goes on: the hold does too, until its end is seen. */
  async #submit(
    exchange: Exchange,
    hold: Hold,
    reading: UsageReading,
    sighting: JobSighting,
  ): Promise<boolean> {
    if (reading.lines.length > 0 && sighting.state !== 'running') return false
    const { ledger, clock } = this.#context
    // Charged as any answer that failed or broke off is.
    if (sighting.state === 'failed') return false
    if (sighting.state === 'done' && sighting.resultsPath === undefined) return false
    const streamed = exchange.find('streamedJob')
    if (streamed !== undefined) {
      await streamed.leave(this.#times.pollMs)
      return true
    }
    const job = submittedJob(exchange, sighting, { now: clock.now(), pollMs: this.#times.pollMs })
    if (job === undefined) return false
    // It names its prices by their versions, which may be out of the config when it ends.
    await ledger.recordPrices([...jobPrices(exchange).values()])
    await ledger.openJob(hold, job)
    return true
  }

  get #endContext() {
    return { ledger: this.#context.ledger, onEnd: (end: JobEnd) => this.#told(end), mayBeStreaming: true }
  }

  #told(end: JobEnd): void {
    const { bus } = this.#context
    const { model, provider } = end.job
    bus.emit('job-end', end, this.#directory.resolve(model, provider)?.entry.name)
    const { charge, result } = end.charged
    for (const [code, details] of chargeAlarms(end.job, charge, result, end.job.facts.tools))
      bus.emit('alarm', code, details)
  }
}

/** A head alone and a part tell nothing of what a job has cost; what cannot be read is left to the poller. */
function hasWholeAnswer({ answerStatus = 0, request }: Exchange, { flags }: UsageReading): boolean {
  const isSuccess = answerStatus >= 200 && answerStatus <= 299
  const isAll = request.method !== 'HEAD' && answerStatus !== 206
  return isSuccess && isAll && !flags.includes('answer_unreadable')
}
