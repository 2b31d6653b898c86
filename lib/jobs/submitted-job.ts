import type { JobKind } from '../dialects/operation-kinds.ts'
import { toolTypes } from '../metering/unrequested-work.ts'
import { likelyTextTokens } from '../http/text-density.ts'
import type { Price } from '../money/price.ts'
import { addMeters, type JobSighting } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { JobFacts, NewJob, Job } from '../ledger/job.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import type { Clock } from '../platform/clock.ts'
import type { ChargeRequest, ChargeResult, Hold, Ledger } from '../ledger/ledger.ts'

interface StreamedJobOptions {
  readonly ledger: Ledger
  readonly clock: Clock
  /** For how long no poller polls the job; the lease is renewed while the stream runs. */
  readonly leaseMs: number
  /** The prices that the job names by their versions. */
  readonly prices: readonly Price[]
  readonly onFailure: (job: Job, error: unknown) => void
}

/**
 * Work whose stream has begun. It goes on whatever becomes of the stream and of this process, so it has the exchange's
 * hold from the moment its id arrives. The stream reports its end, and its output until then; the gateway polls when
 * there is no stream any more.
 */
export class StreamedJob {
  readonly #options: StreamedJobOptions
  readonly #opening: Promise<Job | undefined>
  #timer: NodeJS.Timeout | undefined

  constructor(options: StreamedJobOptions, hold: Hold, job: NewJob) {
    this.#options = options
    this.#opening = this.#open(hold, job)
  }

  /** Resolves when it is on disk. */
  async opened(): Promise<void> {
    await this.#opening
  }

  /** Undefined when another node has charged it. */
  async charge(request: ChargeRequest): Promise<ChargeResult | undefined> {
    const job = await this.#end()
    return job && this.#options.ledger.chargeJob(job, request)
  }

  async release(): Promise<void> {
    const job = await this.#end()
    if (job !== undefined) await this.#options.ledger.releaseJob(job)
  }

  /** The stream has ended before the work: the gateway polls the job. */
  async leave(waitMs: number): Promise<void> {
    const job = await this.#end()
    const { ledger, clock } = this.#options
    if (job !== undefined) await ledger.postponeJob(job, clock.now() + waitMs)
  }

  async #open(hold: Hold, job: NewJob): Promise<Job | undefined> {
    const { ledger, clock, leaseMs, prices } = this.#options
    // The job names them by their versions, which may be out of the config when it ends.
    await ledger.recordPrices(prices)
    const createdAt = clock.now()
    const facts = { ...job.facts, isStreamed: true }
    const leased = { ...job, facts, nextPollAt: createdAt + leaseMs }
    // A job that was known before has a hold, and this one was released.
    if (!(await ledger.openJob(hold, leased))) return undefined
    const { exchangeId, sequence, accountId, keyId, likelyMicros: heldMicros } = hold
    const names = { exchangeId, sequence, accountId, keyId }
    const opened: Job = { ...leased, ...names, heldMicros, state: 'open', polls: 0, createdAt }
    this.#timer = setInterval(() => this.#prolong(opened), leaseMs / 2).unref()
    return opened
  }

  #prolong(job: Job): void {
    const { ledger, clock, leaseMs, onFailure } = this.#options
    ledger.postponeJob(job, clock.now() + leaseMs).catch((error: unknown) => onFailure(job, error))
  }

  async #end(): Promise<Job | undefined> {
    const job = await this.#opening
    clearInterval(this.#timer)
    return job
  }
}

/**
 * The job that an exchange has submitted; undefined for kinds that cannot be polled.
 * @param times now, in milliseconds since the epoch, and how long to wait before the first poll
 */
export function submittedJob(
  exchange: Exchange,
  { kind, id }: Pick<JobSighting, 'kind' | 'id'>,
  { now, pollMs }: { readonly now: number; readonly pollMs: number },
): NewJob | undefined {
  const { dialect, match } = exchange.get('route')
  const jobKind = findJobKind(dialect.jobKinds, kind)
  if (jobKind === undefined) return undefined
  const { provider, credential, modelName } = exchange.get('target')
  return {
    provider: provider.name,
    kind,
    id,
    credential: credential.name,
    dialect: dialect.name,
    operation: match.operation.name,
    model: modelName,
    facts: factsOf(exchange),
    nextPollAt: now + (jobKind.rentMs ?? pollMs),
    deadlineAt: now + jobKind.durationMsMax,
  }
}

/** A kind of job that is paid for repeatedly. */
export type RentKind = JobKind & Required<Pick<JobKind, 'rentMs'>>

export function isRent(kind: JobKind | undefined): kind is RentKind {
  return kind?.rentMs !== undefined
}

/** How a kind of job is polled in a dialect. */
export function findJobKind(kinds: readonly JobKind[], kind: string): JobKind | undefined {
  return kinds.find(candidate => candidate.kind === kind)
}

/** The prices that the job of an exchange is charged at, by the names that its facts use for them. */
export function jobPrices(exchange: Exchange): ReadonlyMap<string, Price> {
  const { price, batch, named = [] } = exchange.get('target')
  return new Map([
    ...(batch?.prices ?? []),
    ...named.flatMap(({ names, price: own }) => names.map(name => [name, own] as const)),
    ...(price === undefined ? [] : [['', price] as const]),
  ])
}

function factsOf(exchange: Exchange): JobFacts {
  const { upstreamModelName, batch } = exchange.get('target')
  const request = exchange.get('request')
  const { candidates, batch: requests, wantedTier } = request
  const { units, unitsVariant, imagesGiven } = { ...request, ...batch?.made }
  const tools = toolTypes(request, exchange.get('target'))
  const isGeneration = exchange.get('route').match.operation.mainMeter === 'output' && requests === undefined
  return {
    upstreamModel: upstreamModelName,
    priceVersions: Object.fromEntries([...jobPrices(exchange)].map(([model, { hash }]) => [model, hash])),
    ...(units !== undefined && { units }),
    ...(unitsVariant !== undefined && { variant: unitsVariant }),
    ...(imagesGiven !== undefined && { imagesGiven }),
    ...(candidates > 1 && { candidates }),
    ...(tools.length > 0 && { tools }),
    ...(batch?.each !== undefined && { each: batch.each }),
    ...(isGeneration && { read: addMeters({ input: likelyTextTokens(request) }, request.context) }),
    ...(wantedTier !== undefined && { wantedTier }),
    ...(requests?.endpoint !== undefined && { endpoint: requests.endpoint }),
    ...(requests?.requestIds !== undefined && { requestIds: requests.requestIds }),
  }
}

/** What a reader of responses about a job knows of the request that submitted it. */
export function jobRequestFacts({ facts }: Job): RequestFacts {
  const {
    upstreamModel,
    units,
    variant,
    imagesGiven,
    candidates = 1,
    endpoint,
    requestIds,
    wantedTier,
  } = facts
  return {
    ...(upstreamModel !== '' && { model: upstreamModel }),
    isStreaming: false,
    candidates,
    textBytes: 0,
    media: [],
    objects: [],
    ...(units !== undefined && { units }),
    ...(variant !== undefined && { unitsVariant: variant }),
    ...(imagesGiven !== undefined && { imagesGiven }),
    ...(wantedTier !== undefined && { wantedTier }),
    startsJob: true,
    batch: { ...(endpoint !== undefined && { endpoint }), ...(requestIds !== undefined && { requestIds }) },
  }
}
