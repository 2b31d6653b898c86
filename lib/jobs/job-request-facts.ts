import type { RequestFacts } from '../dialects/dialect.ts'
import type { Job } from '../ledger/job.ts'

/** What a reader of a job's answers knows of the request that submitted it. */
export function jobRequestFacts({ facts }: Job): RequestFacts {
  const { upstreamModel, units, variant, imagesGiven, candidates = 1, endpoint, requestIds } = facts
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
    startsJob: true,
    batch: { ...(endpoint !== undefined && { endpoint }), ...(requestIds !== undefined && { requestIds }) },
  }
}
