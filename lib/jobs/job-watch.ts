import { GatewayError } from '../pipeline/errors.ts'
import { chargeAlarms } from '../ledger/charge-flags.ts'
import { LedgerUnavailableError } from '../ledger/ledger.ts'
import type { Hold, Ledger } from '../ledger/ledger.ts'
import { ModelDirectory } from '../models/model-directory.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../platform/clock.ts'
import type { Exchange, Outcome } from '../pipeline/exchange.ts'
import type { Stage } from '../pipeline/plugin.ts'
import type { JobSighting, NamedObject, UsageReading } from '../money/usage.ts'
import { Upstreams, type UpstreamsContext } from '../upstream/upstreams.ts'
import { endJob, type JobEnd } from './end-job.ts'
import type { Job, JobName } from '../ledger/job.ts'
import { JobPoller, type PollTimes } from './job-poller.ts'
import { storeOf } from './store-rent.ts'
import { StreamedJob, jobPrices, jobRequestFacts, submittedJob } from './submitted-job.ts'

declare module '../pipeline/exchange.ts' {
  interface Facts {
    /** The open job that the request is about. */
    job: Job
  }
}

declare module '../pipeline/events.ts' {
  interface PipelineEvents {
    /**
     * A job has ended, whichever node saw it first.
     * @param modelEntry the config's name for its model, which clients do not choose; undefined for none
     */
    'job-end': (end: JobEnd, modelEntry: string | undefined) => void
    /** The store could not return the due jobs, or write the state of one. */
    'job-store-failure': (job: Job | undefined, error: unknown) => void
  }
}

interface JobContext extends UpstreamsContext {
  readonly config: Config
  readonly ledger: Ledger
  readonly clock: Clock
}

/**
 * The jobs' stage of an exchange: every job is charged once, by a response that its client gets about it, or by the
 * gateway's own poll. Work that goes on after a response takes the hold of its exchange with it.
 */
export class JobWatch implements Stage {
  readonly needs = ['route', 'request', 'target'] as const
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
    // This alarm blames a provider; a store that is unavailable has an alarm of its own.
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

  /** Starts no new polls; a job that is about to be deleted is still polled. */
  drain(): void {
    this.#poller.drain()
  }

  async stop(): Promise<void> {
    await this.#poller.stop()
    this.#upstreams.close()
  }

  /** @throws GatewayError request_invalid for a deletion that would remove what reports the end of a job */
  onRequest(exchange: Exchange): Promise<void> | undefined {
    const { object } = exchange.get('route').match
    const { startsJob, isStreaming } = exchange.get('request')
    if (startsJob === true && isStreaming)
      exchange.set('objectWatcher', { onNamed: named => this.#onNamed(exchange, named) })
    return object && this.#find(exchange, object)
  }

  /** Finds the open job that a request is about, by the object that its path names. */
  async #find(exchange: Exchange, object: NamedObject): Promise<void> {
    const { operation } = exchange.get('route').match
    const { provider } = exchange.get('target')
    const name = { ...object, provider: provider.name }
    if (operation.job === 'reads') {
      const job = await this.#context.ledger.findJob(name)
      if (job?.state !== 'open') return
      exchange.set('job', job)
      exchange.set('submittedRequest', jobRequestFacts(job))
    } else if (operation.job === 'ends') await this.#requireEnded(name)
    else if (object.kind === 'file' && exchange.request.method === 'DELETE') {
      const file = await this.#context.ledger.findObject(provider.name, object.kind, object.id)
      const batch = file?.facts?.resultsOf
      if (batch !== undefined) await this.#requireEnded({ provider: provider.name, kind: 'batch', id: batch })
    }
  }

  /** The cost of a job that is deleted while it is open would stay unknown. */
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

  /** A stream begins with the id of its job: the hold is the job's from now on. */
  async #onNamed(exchange: Exchange, { kind, id }: NamedObject): Promise<void> {
    const hold = exchange.find('hold')
    if (hold === undefined || exchange.find('holder') !== undefined) return
    const { ledger, clock } = this.#context
    const job = submittedJob(exchange, { kind, id }, { now: clock.now(), pollMs: this.#times.pollMs })
    if (job === undefined) return
    const leaseMs = this.#times.pollMsMax
    const prices = [...jobPrices(exchange).values()]
    const options = { ledger, clock, leaseMs, prices, onFailure: this.#onFailure }
    const streamed = new StreamedJob(options, hold, job)
    exchange.set('holder', streamed)
    await streamed.opened()
  }

  /** Settles what an exchange owes for a job that it has submitted, or is about. */
  onSettle(exchange: Exchange, outcome: Outcome): Promise<void> | undefined {
    const reading = exchange.find('meter')?.reading
    if (reading === undefined) return undefined
    const job = exchange.find('job')
    if (job !== undefined) {
      const isToldAll = outcome.kind === 'completed' || reading.isTerminal
      return isToldAll && hasWholeResponse(exchange, reading) ? this.#endTold(job, reading) : undefined
    }
    const hold = exchange.find('hold')
    if (hold === undefined || reading.job === undefined || exchange.get('request').startsJob !== true)
      return undefined
    return this.#submit(exchange, hold, reading, reading.job)
  }

  /** The response has reported the end of a job, which settles the job's own hold. */
  async #endTold(job: Job, reading: UsageReading): Promise<void> {
    const state = await endJob(this.#endContext, job, reading)
    if (typeof state !== 'object') return
    const { ledger, clock } = this.#context
    await ledger.postponeJob(job, clock.now())
  }

  /** The work goes on, and so does its hold, until its end is seen. */
  async #submit(exchange: Exchange, hold: Hold, reading: UsageReading, sighting: JobSighting): Promise<void> {
    if (reading.lines.length > 0 && sighting.state !== 'running') return
    const { ledger, clock } = this.#context
    // Charged like any response that failed or broke off.
    if (sighting.state === 'failed') return
    if (sighting.state === 'done' && sighting.resultsPath === undefined) return
    const holder = exchange.find('holder')
    if (holder instanceof StreamedJob) await holder.leave(this.#times.pollMs)
    else {
      const job = submittedJob(exchange, sighting, { now: clock.now(), pollMs: this.#times.pollMs })
      if (job === undefined) return
      // The job names its prices by their versions, which may be out of the config when it ends.
      await ledger.recordPrices([...jobPrices(exchange).values()])
      await ledger.openJob(hold, job)
    }
    exchange.set('isHoldKept', true)
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

/** A head alone or a part does not report a job's cost; a response that cannot be read is left to the poller. */
function hasWholeResponse({ responseStatus = 0, request }: Exchange, { flags }: UsageReading): boolean {
  const isSuccess = responseStatus >= 200 && responseStatus <= 299
  const isAll = request.method !== 'HEAD' && responseStatus !== 206
  return isSuccess && isAll && !flags.includes('answer_unreadable')
}
