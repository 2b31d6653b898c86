import type { Finding, Interest, ScanResult } from '../http/json-scan.ts'
import type { BatchFacts } from '../money/batch-facts.ts'
import type { Meter } from '../money/usage.ts'
import { BatchTally } from './batch-tally.ts'
import { span } from './interest.ts'
import { objectsIn } from './named-objects.ts'
import { readCount, readString } from './read-field.ts'
import { readMedia } from './read-media.ts'

/**
 * A hundred thousand requests with a model, a cap and a span each. Findings are kept until the body is
 * whole, so there must be an end of them.
 */
export const batchFindingsMax = 400_000

const requestName = 'request'

/** One request in the body of a batch: its place, and whatever its members are of interest for. */
export function batchedRequest(members: Interest): Interest {
  return { ...span(requestName), ...members }
}

interface BatchedRequest {
  /** Its place; that in the body unless said. */
  readonly at?: string
  readonly endpoint: string
  readonly mainMeter?: Meter
  /** For requests that name none; absent where each must. */
  readonly model?: string
  /** Texts that are answered one by one; 1 unless said. */
  readonly prompts?: number
}

/** What the requests in a batch's body come to. @throws GatewayError body_invalid */
export function inlineBatch(
  scan: ScanResult,
  { requestsMax, ...batch }: Omit<BatchedRequest, 'at'> & { readonly requestsMax: number },
): BatchFacts {
  const tally = new BatchTally(requestsMax)
  for (const findings of requestsIn(scan)) addRequest(tally, findings, batch)
  return tally.facts()
}

/** The findings of each request; its own comes first, since a container begins before its members. */
function* requestsIn({ findings }: ScanResult): Generator<readonly Finding[]> {
  let start = findings.findIndex(({ name }) => name === requestName)
  while (start !== -1) {
    let end = start + 1
    while (end < findings.length && findings[end]?.name !== requestName) end += 1
    yield findings.slice(start, end)
    start = end < findings.length ? end : -1
  }
}

/**
 * Adds one request by its findings.
 * @throws GatewayError body_invalid for a field that has the wrong type
 */
export function addRequest(tally: BatchTally, findings: readonly Finding[], batch: BatchedRequest): void {
  const [request] = findings
  if (request === undefined) return
  const scan: ScanResult = { findings }
  const at = batch.at ?? request.path
  const model = readString(scan, 'model') ?? batch.model
  if (request.type !== 'object' || model === undefined || model === '') {
    tally.fail(at, 'It names no model.')
    return
  }
  const media = readMedia(scan)
  const cap = largestCap(findings)
  const candidates = Math.max(1, readCount(scan, 'candidates') ?? 1, readCount(scan, 'bestOf') ?? 1)
  tally.add({
    at,
    model,
    endpoint: batch.endpoint,
    ...(batch.mainMeter !== undefined && { mainMeter: batch.mainMeter }),
    textBytes: media.reduce((bytes, part) => bytes - part.bodyBytes, request.end - request.start),
    ...(cap > 0 && { outputTokensCap: cap }),
    candidates: candidates * (batch.prompts ?? 1),
    media,
    objects: objectsIn(scan),
  })
}

/** Every name of a cap counts: which of them is the endpoint's own may not be known yet. */
function largestCap(findings: readonly Finding[]): number {
  let cap = 0
  for (const finding of findings) {
    if (finding.name !== 'cap' && finding.name !== 'otherCap') continue
    cap = Math.max(cap, readCount({ findings: [finding] }, finding.name) ?? 0)
  }
  return cap
}
