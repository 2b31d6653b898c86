import { GatewayError } from '../pipeline/errors.ts'
import type { Finding, Interest, ScanResult } from '../http/json-scan.ts'
import type { MediaPart } from '../http/media-part.ts'
import type { BatchFacts } from '../money/batch-facts.ts'
import type { Meter, NamedObject } from '../money/usage.ts'
import { BatchTally, type BatchedTo } from './batch-tally.ts'
import type { JsonPartsReader, RequestFacts } from './dialect.ts'
import { span } from './interest.ts'
import { filesInText, objectsIn } from './named-objects.ts'
import { namedModelsIn } from './naming-members.ts'
import { containersIn } from './provider-tools.ts'
import { findField, isSpelled, memberOf, readCount, readString, requireSpellings } from './read-field.ts'
import { readMedia } from './read-media.ts'
import { cacheWriteIn, demandIn, modelsNamedAgain, wantedBatchTier } from './request-facts.ts'

/** The requests of a batch: their totals, or the uploaded file that contains them. */
export interface BatchedRequests {
  readonly requests?: BatchFacts
  readonly file?: NamedObject
  /** The endpoint to which every request of the file must go. */
  readonly endpoint?: string
  /** Each request must name the endpoint itself. */
  readonly isSaidByEach?: true
  /** The batch is created empty; requests are added to it later. */
  readonly isEmpty?: true
  /** The ids of these requests' results, where the results of other requests are in the same list. */
  readonly requestIds?: readonly string[]
  /** The model that the body names beside the one in the path or in the requests; the two must be equal. */
  readonly model?: string
  /** The meter for which a model must have a price; by default that of the batch's operation. */
  readonly mainMeter?: Meter
}

const requestName = 'request'
/** Each is measured and checked on its own and identified by its place. */
const mediaMax = 20_000

/** One request in the body of a batch: its place, and the interests of its members. */
export function batchedRequest(members: Interest): Interest {
  return { ...span(requestName), ...members }
}

export interface BatchedRequest extends BatchedTo {
  /** The request's place; by default its place in the body. */
  readonly at?: string
  /** The model of requests that name none; absent where each must name one. */
  readonly model?: string
  /** The number of texts with a response each; 1 by default. */
  readonly prompts?: number
  /** The members in which an output cap is read; all of them by default. */
  readonly capMembers?: readonly string[]
}

/** Reads the requests in a batch's body as they arrive. */
export class InlineBatchReader implements JsonPartsReader {
  readonly partName = requestName
  readonly #tally: BatchTally
  readonly #batch: Omit<BatchedRequest, 'at'>
  readonly #media: MediaPart[] = []
  readonly #describe: (requests: BatchFacts, rest: ScanResult) => BatchedRequests

  /** @param describe reads what the body says beside the requests; it may throw a GatewayError */
  constructor(
    { requestsMax, ...batch }: Omit<BatchedRequest, 'at'> & { readonly requestsMax: number },
    describe: (requests: BatchFacts, rest: ScanResult) => BatchedRequests,
  ) {
    this.#tally = new BatchTally(requestsMax)
    this.#batch = batch
    this.#describe = describe
  }

  /** What is known of a request beside its findings; undefined if `fail` has reported a problem. */
  protected batchOf(_request: readonly Finding[]): Omit<BatchedRequest, 'at'> | undefined {
    return this.#batch
  }

  protected fail(at: string, message: string): void {
    this.#tally.fail(at, message)
  }

  take(findings: readonly Finding[]): void {
    for (const request of requestsIn({ findings })) {
      const batch = this.batchOf(request)
      const media = batch === undefined ? [] : addRequest(this.#tally, request, batch)
      if (this.#media.length + media.length <= mediaMax) this.#media.push(...media)
      else
        this.#tally.fail(media[0]?.path ?? '', `A batch may hold at most ${mediaMax} images and other media.`)
    }
  }

  end(rest: ScanResult, body: { readonly length: number }): RequestFacts {
    const batch = this.#describe(this.#tally.facts(rest.counted), rest)
    return {
      isStreaming: false,
      candidates: 1,
      textBytes: body.length,
      media: this.#media,
      objects: batch.file === undefined ? [] : [batch.file],
      startsJob: true,
      batch,
    }
  }
}

/** The findings of each request; its own finding comes first, since a container begins before its members. */
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
 * Adds one request by its findings and returns its media.
 * @throws GatewayError body_invalid for a field of the wrong type
 */
export function addRequest(
  tally: BatchTally,
  findings: readonly Finding[],
  batch: BatchedRequest,
): readonly MediaPart[] {
  const [request] = findings
  if (request === undefined) return []
  const scan: ScanResult = { findings }
  const { at = request.path, model: unlessSaid, prompts = 1, capMembers, ...to } = batch
  requireSpellings(scan)
  const model = modelOf(scan, unlessSaid)
  if (request.type !== 'object' || model === undefined || model === '') {
    tally.fail(at, 'It names no model.')
    return []
  }
  if (findField(scan, 'fallbacks')?.type === 'string') tally.fail(at, 'fallbacks must name its models here.')
  if (containersIn(scan).units !== undefined)
    tally.fail(at, 'No container is rented in a batch: send requests that run code one by one.')
  const media = readMedia(scan)
  const cap = largestCap(findings, 'cap', capMembers)
  const completionCap = largestCap(findings, 'otherCap', capMembers)
  const wantedTier = wantedBatchTier(scan)
  const cacheWrite = cacheWriteIn(scan)
  const candidates = Math.max(1, readCount(scan, 'candidates') ?? 1, readCount(scan, 'bestOf') ?? 1)
  tally.add({
    ...demandIn(scan),
    ...to,
    at,
    model,
    namedModels: namedModelsIn(scan),
    isReadInParts: prompts > 1,
    ...(cacheWrite !== undefined && { cacheWrite }),
    textBytes: media.reduce((bytes, part) => bytes - part.bodyBytes, request.end - request.start),
    ...(cap > 0 && { outputTokensCap: cap }),
    ...(completionCap > 0 && { completionTokensCap: completionCap }),
    ...(wantedTier !== undefined && { wantedTier }),
    candidates: candidates * prompts,
    media,
    objects: objectsIn(scan),
    filesInText: filesInText(scan) ?? [],
  })
  return media
}

/** A request may name its model in several places and a provider may read any of them, so all must be equal. */
function modelOf(scan: ScanResult, unlessSaid: string | undefined): string | undefined {
  const own = readString(scan, 'model')
  const named = new Set(modelsNamedAgain(scan).map(({ name }) => name))
  if (own !== undefined) named.add(own)
  if (named.size > 1) {
    throw new GatewayError(
      'body_invalid',
      `It names more than one model: ${[...named].slice(0, 5).join(', ')}.`,
      { param: 'model' },
    )
  }
  const [only = unlessSaid] = named
  return only
}

/** The scan finds the caps of all endpoints; a body belongs to one endpoint only. */
function largestCap(
  findings: readonly Finding[],
  name: 'cap' | 'otherCap',
  members: readonly string[] | undefined,
): number {
  let cap = 0
  for (const finding of findings) {
    if (finding.name !== name || !isSpelled(finding)) continue
    if (members?.includes(memberOf(finding)) === false) continue
    cap = Math.max(cap, readCount({ findings: [finding] }, name) ?? 0)
  }
  return cap
}
