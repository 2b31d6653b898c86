import { randomUUID } from 'node:crypto'
import type { Finding } from '../../http/json-scan.ts'
import { GatewayError } from '../../pipeline/errors.ts'
import { ResponseReader } from '../response-reader.ts'
import { batchedRequest, InlineBatchReader, type BatchedRequest } from '../batch-requests.ts'
import type { HeadFacts, Operation, UsageReaderContext } from '../dialect.ts'
import { freeOperation, type JobKind } from '../operation-kinds.ts'
import { list, object, span, value } from '../interest.ts'
import { route, type RouteRow } from '../route-table.ts'
import { anyRequestBody, batchRequestsMax, capMembers, unitsOf } from './batch-input.ts'
import { batches, batchJobs, batchSubmission } from './batches.ts'
import { chat } from './chat.ts'
import { imageEdits, imageGenerations } from './images.ts'
import { responses } from './responses.ts'
import { batchOfPart, XaiCounts, xaiCounts } from './xai-batch-results.ts'
import { xaiVideoGenerations } from './xai-videos.ts'

// https://docs.x.ai/docs/guides/batch-api: a batch is created by its name, and requests are added to it repeatedly.

/** The wrappers of a request, each with the operation that defines its body. */
const wrappers: ReadonlyMap<string, { readonly operation: Operation; readonly endpoint: string }> = new Map([
  ['chat_get_completion', { operation: chat, endpoint: '/v1/chat/completions' }],
  ['responses', { operation: responses, endpoint: '/v1/responses' }],
  ['image_generation', { operation: imageGenerations, endpoint: '/v1/images/generations' }],
  ['image_edit', { operation: imageEdits, endpoint: '/v1/images/edits' }],
  ['video_generation', { operation: xaiVideoGenerations, endpoint: '/v1/videos/generations' }],
])
const wrapped = { ...anyRequestBody, ...span('wrapper') }
/** Members in another spelling, which xAI may read and no hold would cover. */
const foreign = span('foreign')
const added = object({
  batch_requests: list(
    batchedRequest(
      object({
        batch_request_id: value('requestId'),
        batch_request: object({
          ...Object.fromEntries([...wrappers.keys()].map(wrapper => [wrapper, wrapped])),
          '*': span('wrapper'),
        }),
        '*': foreign,
      }),
    ),
  ),
  '*': foreign,
})

/** @throws GatewayError body_invalid */
function refuseForeign(findings: readonly Finding[]): void {
  const path = findings.find(({ name }) => name === 'foreign')?.path
  if (path === undefined) return
  throw new GatewayError('body_invalid', `${path} is not a known member of a batch request.`, { param: path })
}

/** Reads requests as they are added, each with the id of its result. */
class AddedRequestsReader extends InlineBatchReader {
  readonly #ids: string[] = []

  constructor() {
    super({ requestsMax: batchRequestsMax, endpoint: '' }, (requests, rest) => {
      refuseForeign(rest.findings)
      return { requests, requestIds: this.#ids }
    })
  }

  protected override batchOf(request: readonly Finding[]): Omit<BatchedRequest, 'at'> | undefined {
    const at = request[0]?.path ?? ''
    refuseForeign(request)
    const id = request.find(({ name }) => name === 'requestId')
    const inside = request.filter(({ name }) => name === 'wrapper')
    const found = wrappers.get(inside[0]?.path.split('.').at(-1) ?? '')
    if (id?.type !== 'string' || id.raw === undefined) {
      this.fail(at, 'It needs a batch_request_id, which identifies its result.')
      return undefined
    }
    if (inside.length !== 1 || found === undefined) {
      this.fail(at, `Its batch_request must be one of ${[...wrappers.keys()].join(', ')} here.`)
      return undefined
    }
    this.#ids.push(String(JSON.parse(id.raw.toString('utf8'))))
    const { operation, endpoint } = found
    const caps = capMembers.get(operation) ?? []
    return {
      endpoint,
      mayRunTools: operation === chat || operation === responses,
      capMembers: caps,
      mainMeter: operation.mainMeter,
      // Images without a model would otherwise get OpenAI's default model.
      ...(operation === xaiVideoGenerations && { model: operation.defaultModel }),
      ...unitsOf(operation, { findings: request }),
    }
  }
}

/** The response to added requests is empty; the requests continue as a job of their own. */
class AddedReader extends ResponseReader {
  constructor(head: HeadFacts, context: UsageReaderContext) {
    super(head, context, object({}), 'batchPart')
    if (head.status >= 200 && head.status <= 299)
      this.objectId = `${context.object?.id ?? ''}#${randomUUID()}`
  }

  protected override jobState(): ReturnType<ResponseReader['jobState']> {
    return { state: 'running' }
  }
}

/** `POST /batches/{id}/requests` */
const addRequests: Operation = {
  ...batchSubmission,
  name: 'batch-requests',
  interest: added,
  readJsonParts: () => new AddedRequestsReader(),
  readUsage: (head, context) => new AddedReader(head, context),
}

/** Reads the state of the batch to which requests were added. */
class PartReader extends ResponseReader {
  readonly #counts = new XaiCounts()

  constructor(head: HeadFacts, context: UsageReaderContext) {
    super(head, context, object(xaiCounts), 'batchPart')
    this.objectId = context.object?.id ?? ''
  }

  protected override onValue(name: string, value: unknown): void {
    this.#counts.take(name, value)
  }

  protected override jobState(): ReturnType<ResponseReader['jobState']> {
    return this.#counts.isTold ? this.#counts.state(batchOfPart(this.objectId)) : { state: 'running' }
  }
}

/** Requests added to a batch, charged when their results are ready. */
export const batchParts: JobKind = {
  ...batchJobs,
  kind: 'batchPart',
  retrieval: {
    ...freeOperation('stored-batch-part'),
    readUsage: (head, context) => new PartReader(head, context),
  },
  path: (id, providerKind) => batchJobs.path(batchOfPart(id), providerKind),
}

const storedRequests = freeOperation('stored-batch-requests')

/** xAI's paths beside OpenAI's paths of batches, below `/v1`. */
export const xaiBatchRows: readonly RouteRow[] = [
  route('POST', '/batches/{id}:cancel', batches.cancelled, { object: 'batch' }),
  route('GET', '/batches/{id}/results', freeOperation('stored-batch-results'), { object: 'batch' }),
  route('POST', '/batches/{id}/requests', addRequests, { object: 'batch' }),
  route('GET', '/batches/{id}/requests', storedRequests, { object: 'batch' }),
]
