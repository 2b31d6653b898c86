import type { JobKind } from '../dialects/job-kind.ts'
import { toolTypes } from '../metering/unasked-work.ts'
import { likelyTextTokens } from '../http/text-density.ts'
import type { Price } from '../money/price.ts'
import { addMeters, type JobSighting } from '../money/usage.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { JobFacts, NewJob, Job } from '../ledger/job.ts'
import type { RequestFacts } from '../dialects/dialect.ts'

/**
 * The job that an exchange has submitted; undefined for kinds that nobody could ask after.
 * @param times now, in milliseconds since the epoch, and how long to wait before the first question
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

/** A kind of job that is paid for again and again. */
export type RentKind = JobKind & Required<Pick<JobKind, 'rentMs'>>

export function isRent(kind: JobKind | undefined): kind is RentKind {
  return kind?.rentMs !== undefined
}

/** How a kind of job is asked after in a dialect. */
export function findJobKind(kinds: readonly JobKind[], kind: string): JobKind | undefined {
  return kinds.find(candidate => candidate.kind === kind)
}

/** The prices that the job of an exchange is charged at, by the names that its facts have them under. */
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
    ...(isGeneration && { read: addMeters({ input: likelyTextTokens(request) }, request.context) }),
    ...(wantedTier !== undefined && { wantedTier }),
    ...(requests?.endpoint !== undefined && { endpoint: requests.endpoint }),
    ...(requests?.requestIds !== undefined && { requestIds: requests.requestIds }),
  }
}

/** What a reader of a job's answers knows of the request that submitted it. */
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
