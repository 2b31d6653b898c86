import type { Job } from '../ledger/job.ts'
import type { ChargeRequest } from '../ledger/ledger.ts'
import type { Price } from '../money/price.ts'
import { mapMeters, type Meters, type UsageLine, type UsageReading } from '../money/usage.ts'
import { bytesPerToken } from '../http/text-density.ts'
import { inTokens } from '../metering/estimate-usage.ts'
import type { SentEnding } from './decide-owed.ts'
import { settle, isSameModel } from './settle.ts'

/** How a job ended: as a response about it reports, or unobserved. */
export type JobEnding =
  | { readonly hasFailed: boolean; readonly reading: UsageReading }
  | { readonly reading: undefined }

/**
 * What a job owes, at the prices that were in force when it was submitted. A job whose end was not observed may have
 * been worked on, which cannot be known: it is listed, and charged nothing.
 * @param prices by their versions, as far as the store has them
 */
export function settleJob(job: Job, ending: JobEnding, prices: ReadonlyMap<string, Price>): ChargeRequest {
  const { upstreamModel, priceVersions } = job.facts
  const priceOf = (version: string | undefined): Price | undefined =>
    version === undefined ? undefined : prices.get(version)
  const price = priceOf(priceVersions[''])
  const seen =
    ending.reading === undefined ? ending : { ...ending, reading: withUncounted(ending.reading, job, price) }
  const { reading } = seen
  const work = {
    provider: job.provider,
    model: job.model,
    dialect: job.dialect,
    operation: job.operation,
    providerRequestId: job.id,
    own: { name: upstreamModel, price },
    priceOf: (model: string) => priceOf(ofModel(priceVersions, model)),
  }
  return settle(work, { ending: endingOf(seen), reported: reading }, ({ flags }) => ({
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
  return { outcome: 'completed', wasSent: true, drain: 'none', reading: readingOf(reading, hasFailed) }
}

/** A job that was canceled may have used something until then, and then has lines, text or images. */
function readingOf(
  { lines, hasError, outputTextBytes, beside = [] }: UsageReading,
  hasFailed: boolean,
): NonNullable<SentEnding['reading']> {
  const hasOutput = outputTextBytes + beside.length > 0 && !(hasFailed && hasError)
  return { lines, isTerminal: true, hasError: hasFailed && lines.length === 0, hasOutput }
}

/** The value for a model; responses name a snapshot of the requested one. */
function ofModel<T>(byModel: Readonly<Record<string, T>>, model: string): T | undefined {
  const named = Object.entries(byModel).find(([name]) => name !== '' && isSameModel(model, name))
  return named?.[1] ?? byModel['']
}

/** Adds to a batch's usage what its results do not report. */
function withUncounted(
  reading: UsageReading,
  { facts: { each } }: Job,
  price: Price | undefined,
): UsageReading {
  if (each === undefined) return reading
  const { lines, beside = [], flags } = reading
  const told = lines.map(line => (price === undefined ? line : drawnInTokens(line, price)))
  const estimated = beside.map(line => boundedLine(line, ofModel(each, line.model ?? '') ?? {}))
  const isTold = estimated.length === 0 && told.every((line, index) => line === lines[index])
  return { ...reading, lines: [...told, ...estimated], flags: isTold ? flags : [...flags, 'estimate_rough'] }
}

/** Converts images that were counted one by one, if their price is per token. */
function drawnInTokens(line: UsageLine, price: Price): UsageLine {
  const meters = inTokens(line.meters, line.variant, price)
  return meters.images === line.meters.images ? line : { ...line, meters }
}

/** Usage of requests whose results report none, by their input or their shown output: no more than was held. */
function boundedLine(line: UsageLine, { output: most = Infinity, ...read }: Meters): UsageLine {
  const { meters, sumOf = 1 } = line
  const isOfRead = Object.keys(meters).length === 0
  const bounded = isOfRead
    ? mapMeters(read, units => units * sumOf)
    : mapMeters(meters, units => Math.min(units, most * sumOf))
  return { ...line, meters: bounded }
}
