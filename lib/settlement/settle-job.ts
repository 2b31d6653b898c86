import type { Job } from '../ledger/job.ts'
import type { ChargeRequest } from '../ledger/ledger.ts'
import type { Price } from '../money/price.ts'
import type { UsageReading } from '../money/usage.ts'
import type { SentEnding } from './decide-owed.ts'
import { settle, isSameModel } from './settle.ts'

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
  const priceOf = (version: string | undefined): Price | undefined =>
    version === undefined ? undefined : prices.get(version)
  const work = {
    provider: job.provider,
    model: job.model,
    dialect: job.dialect,
    operation: job.operation,
    providerRequestId: job.id,
    own: { name: upstreamModel, price: priceOf(priceVersions['']) },
    priceOf: (model: string) => priceOf(versionOf(job, model)),
  }
  return settle(work, { ending: endingOf(ending), reported: reading }, ({ flags }) => ({
    lines: [
      { meters: { ...job.facts.read, output: Math.ceil((reading?.outputTextBytes ?? 0) / bytesPerToken) } },
      ...(reading?.beside ?? []),
    ],
    source: 'estimated',
    flags: [...flags, 'estimate_rough'],
  }))
}

function endingOf(ending: JobEnding): SentEnding {
  if (ending.reading === undefined) return { outcome: 'broken', wasSent: true, drain: 'none' }
  const { hasFailed, reading } = ending
  return { outcome: 'completed', wasSent: true, drain: 'none', reading: seen(reading, hasFailed) }
}

/** A job that was cancelled may have used something until then, and then has lines, text or images. */
function seen(
  { lines, hasError, outputTextBytes, beside = [] }: UsageReading,
  hasFailed: boolean,
): NonNullable<SentEnding['reading']> {
  const hasOutput = outputTextBytes + beside.length > 0 && !(hasFailed && hasError)
  return { lines, isTerminal: true, hasError: hasFailed && lines.length === 0, hasOutput }
}

/** Answers name a snapshot of the model that was asked for. */
function versionOf({ facts }: Job, model: string): string | undefined {
  const versions = Object.entries(facts.priceVersions)
  return versions.find(([name]) => name !== '' && isSameModel(model, name))?.[1] ?? facts.priceVersions['']
}
