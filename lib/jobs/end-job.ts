import type { ChargeRequest, ChargeResult } from '../ledger/ledger.ts'
import type { Price } from '../money/price.ts'
import type { UsageReading } from '../money/usage.ts'
import { settleJob } from '../settlement/settle-job.ts'
import type { Job, JobLedger } from '../ledger/job.ts'

/** A job that has just ended, for the log and the metrics. */
export interface JobEnd {
  readonly job: Job
  readonly charged: { readonly charge: ChargeRequest; readonly result: ChargeResult }
}

const noPrices: ReadonlyMap<string, Price> = new Map()

interface EndJobContext {
  readonly ledger: JobLedger
  /** Called when this call ended the job. */
  readonly onEnd: (end: JobEnd) => void
}

interface SeenContext extends EndJobContext {
  /** The stream that submitted the job may still run, on any node. */
  readonly mayBeStreaming: boolean
}

/** The state of a job after a response about it was read. */
export type JobState = 'running' | 'ended' | { readonly resultsPath: string }

/**
 * Ends a job as a response about it reports: charges what it used, which is nothing for most that failed. Durable when
 * it resolves. A second call changes nothing.
 */
export async function endJob(context: SeenContext, job: Job, reading: UsageReading): Promise<JobState> {
  const sighting = reading.job
  if (sighting === undefined || sighting.id !== job.id || sighting.state === 'running') return 'running'
  if (sighting.state === 'done' && sighting.resultsPath !== undefined && reading.lines.length === 0)
    return { resultsPath: sighting.resultsPath }
  const hasFailed = sighting.state === 'failed'
  const isUnpaid = hasFailed && reading.lines.length === 0
  // Only the stream itself knows its output so far.
  if (isUnpaid && job.facts.isStreamed === true && context.mayBeStreaming) {
    if (reading.hasError || reading.outputTextBytes === 0) return 'running'
  }
  const prices = await context.ledger.findPrices(Object.values(job.facts.priceVersions))
  await charge(context, job, settleJob(job, { hasFailed, reading }, prices))
  return 'ended'
}

/** Ends a job whose outcome will stay unknown. */
export function giveUpJob(context: EndJobContext, job: Job): Promise<void> {
  return charge(context, job, settleJob(job, { reading: undefined }, noPrices))
}

async function charge({ ledger, onEnd }: EndJobContext, job: Job, request: ChargeRequest): Promise<void> {
  const result = await ledger.chargeJob(job, request)
  if (result !== undefined) onEnd({ job, charged: { charge: request, result } })
}
