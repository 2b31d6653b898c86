import type { Job } from '../jobs/job.ts'
import type { ChargeRequest } from '../ledger/ledger.ts'
import { isSameModel } from '../metering/is-same-model.ts'
import type { Price } from '../money/price.ts'
import type { UsageReading } from '../money/usage.ts'
import { decideOwed } from './decide-owed.ts'
import { priceLines } from './price-lines.ts'

/** How a job ended: as an answer about it says, or in a way that nobody saw. */
export type JobEnding =
  { readonly hasFailed: boolean; readonly reading: UsageReading } | { readonly reading: undefined }

/** Four bytes of text are about a token. */
const bytesPerToken = 4

/**
 * What a job owes, at the prices that were in force when it was submitted. One whose end nobody could see may
 * have been worked on, which cannot be known: it is listed, and charged nothing.
 * @param prices by their versions, as far as the store knows them
 */
export function settleJob(job: Job, ending: JobEnding, prices: ReadonlyMap<string, Price>): ChargeRequest {
  const { reading } = ending
  const { upstreamModel, priceVersions } = job.facts
  const owed = decideOwed(
    reading === undefined
      ? { outcome: 'broken', wasSent: true, drain: 'none' }
      : { outcome: 'completed', wasSent: true, drain: 'none', reading: seen(reading, ending.hasFailed) },
  )
  const isEstimated = owed.basis === 'estimated'
  const flags = new Set([...(reading?.flags ?? []), ...(owed.basis === 'nothing' ? [] : owed.flags)])
  if (isEstimated) flags.add('estimate_rough')
  if (upstreamModel !== '' && reading?.model !== undefined && !isSameModel(reading.model, upstreamModel))
    flags.add('model_mismatch')
  const priceOf = (version: string | undefined): Price | undefined =>
    version === undefined ? undefined : prices.get(version)
  const own = { name: upstreamModel, price: priceOf(priceVersions['']) }
  const lines = isEstimated ? [estimated(reading)] : owed.basis === 'reported' ? (reading?.lines ?? []) : []
  return {
    provider: job.provider,
    model: job.model,
    dialect: job.dialect,
    operation: job.operation,
    outcome: reading === undefined ? 'broken' : 'completed',
    usageSource: isEstimated ? 'estimated' : 'provider',
    lines: priceLines(lines, own, model => priceOf(versionOf(job, model)), flags),
    ...(reading?.raw !== undefined && { rawUsage: reading.raw }),
    ...(reading?.details !== undefined && { details: reading.details }),
    providerRequestId: job.id,
    flags: [...flags],
  }
}

/** A job that was cancelled may have used something until then, and then has lines or text. */
function seen(
  { lines, hasError, outputTextBytes }: UsageReading,
  hasFailed: boolean,
): NonNullable<Parameters<typeof decideOwed>[0]['reading']> {
  const hasOutput = outputTextBytes > 0 && !(hasFailed && hasError)
  return { lines, isTerminal: true, hasError: hasFailed && lines.length === 0, hasOutput }
}

/** What was said of a job that nobody counted. */
function estimated(reading: UsageReading | undefined): UsageReading['lines'][number] {
  return { meters: { output: Math.ceil((reading?.outputTextBytes ?? 0) / bytesPerToken) } }
}

/** Answers name a snapshot of the model that was asked for. */
function versionOf({ facts }: Job, model: string): string | undefined {
  const versions = Object.entries(facts.priceVersions)
  return versions.find(([name]) => name !== '' && isSameModel(model, name))?.[1] ?? facts.priceVersions['']
}
