import type { ChargeRequest } from '../ledger/ledger.ts'
import { isSameModel } from '../metering/is-same-model.ts'
import type { Price } from '../money/price.ts'
import type { UsageReading } from '../money/usage.ts'
import type { Job } from './job.ts'

/**
 * What a job that is done owes, at the prices that were in force when it was submitted.
 * @param prices by their versions, as far as the store knows them
 */
export function jobCharge(
  job: Job,
  reading: UsageReading,
  prices: ReadonlyMap<string, Price>,
): ChargeRequest {
  const flags = new Set(reading.flags)
  const lines: { usage: UsageReading['lines'][number]; price: Price }[] = []
  const isEstimated = reading.lines.length === 0 && reading.outputTextBytes > 0
  for (const usage of isEstimated ? [estimated(reading)] : reading.lines) {
    const price = priceOf(job, usage.model, prices)
    if (price === undefined) flags.add('model_unpriced')
    else lines.push({ usage, price })
  }
  if (reading.lines.length === 0) flags.add('usage_missing')
  if (isEstimated) flags.add('estimate_rough')
  const { upstreamModel } = job.facts
  if (upstreamModel !== '' && reading.model !== undefined && !isSameModel(reading.model, upstreamModel))
    flags.add('model_mismatch')
  return {
    ...chargeNames(job),
    ...(isEstimated && { usageSource: 'estimated' }),
    lines,
    ...(reading.raw !== undefined && { rawUsage: reading.raw }),
    ...(reading.details !== undefined && { details: reading.details }),
    flags: [...flags],
  }
}

/**
 * A job whose end nobody could see: its provider may have done the work, which cannot be known. It is listed,
 * and charged nothing, as a request that was sent and never answered is.
 */
export function ambiguousCharge(job: Job): ChargeRequest {
  return { ...chargeNames(job), outcome: 'broken', lines: [], flags: ['ambiguous'] }
}

function chargeNames(job: Job): Omit<ChargeRequest, 'lines' | 'flags'> {
  const { provider, model, dialect, operation } = job
  return { provider, model, dialect, operation, outcome: 'completed', usageSource: 'provider' }
}

/** What was said of a job that nobody counted; four bytes of text are about a token. */
function estimated({ outputTextBytes }: UsageReading): UsageReading['lines'][number] {
  return { meters: { output: Math.ceil(outputTextBytes / 4) } }
}

/** Answers name a snapshot of the model that was asked for. */
function priceOf(
  { facts }: Job,
  model: string | undefined,
  prices: ReadonlyMap<string, Price>,
): Price | undefined {
  const versions = Object.entries(facts.priceVersions)
  const own = versions.find(([name]) => name !== '' && model !== undefined && isSameModel(model, name))
  const version = own?.[1] ?? facts.priceVersions['']
  return version === undefined ? undefined : prices.get(version)
}
