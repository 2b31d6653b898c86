import type { ChargeRequest, ChargeResult } from '../ledger/ledger.ts'
import type { Price } from '../money/price.ts'
import type { UsageReading } from '../money/usage.ts'
import { settleJob } from '../settlement/settle-job.ts'
import type { Job, JobLedger } from '../ledger/job.ts'

/** How a job ended just now, for the log and the metrics. */
export interface JobEnd {
  readonly job: Job
  readonly charged: { readonly charge: ChargeRequest; readonly result: ChargeResult }
}

const noPrices: ReadonlyMap<string, Price> = new Map()

interface EndJobContext {
  readonly ledger: JobLedger
  /** Told when it was this call that ended the job. */
  readonly onEnd: (end: JobEnd) => void
}

interface SeenContext extends EndJobContext {
  /** The stream that has submitted the job may still go on, at whichever node. */
  readonly mayBeStreaming: boolean
}

/** What is known of a job after an answer about it was read. */
export type JobState = 'running' | 'ended' | { readonly resultsPath: string }

/**
 * Ends a job as an answer about it says: charges what it used, which is nothing for most that failed. Durable
 * when it resolves. Whoever comes second changes nothing.
 */
export async function endJob(context: SeenContext, job: Job, reading: UsageReading): Promise<JobState> {
  const sighting = reading.job
  if (sighting === undefined || sighting.id !== job.id || sighting.state === 'running') return 'running'
  if (sighting.state === 'done' && sighting.resultsPath !== undefined && reading.lines.length === 0)
    return { resultsPath: sighting.resultsPath }
  const hasFailed = sighting.state === 'failed'
  const isUnpaid = hasFailed && reading.lines.length === 0
  // What its stream has said until now is known by the stream alone.
  if (isUnpaid && job.facts.isStreamed === true && context.mayBeStreaming) {
    if (reading.hasError || reading.outputTextBytes === 0) return 'running'
  }
  const prices = await context.ledger.findPrices(Object.values(job.facts.priceVersions))
  await charge(context, job, settleJob(job, { hasFailed, reading }, prices))
  return 'ended'
}

/** Ends a job of which nothing more will be known. */
export function giveUpJob(context: EndJobContext, job: Job): Promise<void> {
  return charge(context, job, settleJob(job, { reading: undefined }, noPrices))
}

async function charge({ ledger, onEnd }: EndJobContext, job: Job, request: ChargeRequest): Promise<void> {
  const result = await ledger.chargeJob(job, request)
  if (result !== undefined) onEnd({ job, charged: { charge: request, result } })
}
