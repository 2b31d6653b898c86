import type { ScanResult } from '../../http/json-scan.ts'
import { GatewayError } from '../../pipeline/errors.ts'
import type { AnswerHead, Operation, RequestFacts, UsageReaderContext } from '../dialect.ts'
import type { JobKind } from '../job-kind.ts'
import { freeOperation } from '../free-operation.ts'
import { object, value, list, span } from '../interest.ts'
import type { AnswerMeasure } from '../measure.ts'
import { jobOperations } from '../job-operations.ts'
import { names } from '../named-objects.ts'
import { readString } from '../read-field.ts'
import { factsFrom } from '../request-facts.ts'
import type { RouteRow } from '../route-table.ts'
import { batchEndpoints } from './batch-input.ts'
import { BatchOutputReader } from './batch-output.ts'
import { openaiList } from './object-list.ts'
import { OpenaiReader } from './openai-reader.ts'
import { measureTokens } from './token-usage.ts'
import type { JobSighting, UsageReading } from '../../money/usage.ts'
import { AnswerReader } from '../answer-reader.ts'
import { batchReading } from '../batch-results.ts'
import { BatchSum } from '../batch-sum.ts'
import { UsageFields } from '../usage-fields.ts'

const request = object({ input_file_id: names('file'), endpoint: value('endpoint') })

const batch = object({
  id: value('id'),
  status: value('status'),
  usage: value('usage'),
  output_file_id: value('outputFile'),
  error_file_id: value('errorFile'),
  request_counts: object({ completed: value('completed') }),
  // Mistral's.
  output_file: value('outputFile'),
  error_file: value('errorFile'),
  // xAI's, which have no status.
  batch_id: value('id'),
  state: object({ num_requests: value('requests'), num_pending: value('pending') }),
  cancel_time: value('cancelTime'),
})

/** Batches that were cancelled or not done in time are billed for what was done; Mistral's statuses are in capitals. */
const finalStatuses: ReadonlySet<string> = new Set([
  'completed',
  'cancelled',
  'expired',
  'SUCCESS',
  'CANCELLED',
  'TIMEOUT_EXCEEDED',
])
const failedStatuses: ReadonlySet<string> = new Set(['failed', 'FAILED'])

const body = object({ model: value('resultModel'), usage: value('resultTokens') }, span('answer'))
const result = object({
  // Under the name of the endpoint; answers of `/v1/responses` come as chat completions too.
  batch_result: object({ response: object({ chat_get_completion: body, responses: body }) }),
})
const page = object({ results: list(result), pagination_token: value('next') })

const pageSize = 1000

/** Where the results of a batch are, page by page. */
function xaiResultsPath(id: string, token?: string): string {
  const next = token === undefined ? '' : `&pagination_token=${encodeURIComponent(token)}`
  return `/batches/${encodeURIComponent(id)}/results?limit=${pageSize}${next}`
}

/** Reads a page of the results of a batch of xAI's. Requests that failed stand there too, and are not billed. */
class XaiResultsReader extends AnswerReader {
  readonly #sum = new BatchSum()
  #model: string | undefined
  #answers = 0
  #counted = 0
  #next = ''

  constructor(head: AnswerHead, context: UsageReaderContext) {
    super(head, context, page)
  }

  override end(): UsageReading {
    const { isTerminal } = super.end()
    if (this.#answers > this.#counted) this.flags.add('usage_missing')
    return batchReading(this.#sum, this.flags, { isTerminal, job: this.#sighting() })
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'next' && typeof value === 'string') this.#next = value
    if (name === 'answer') this.#answers += 1
    if (name === 'resultModel') this.#model = typeof value === 'string' ? value : undefined
    if (name !== 'resultTokens') return
    const measure = measureTokens(new UsageFields(value, this.flags), this.context.providerKind)
    if (measure === undefined) return
    this.#counted += 1
    const model = this.#model === undefined ? {} : { model: this.#model }
    this.#sum.add({ ...model, meters: measure.meters, tier: 'batch' }, measure.details)
  }

  protected override measure(): AnswerMeasure {
    return { lines: [], details: {} }
  }

  #sighting(): JobSighting {
    const id = this.context.object?.id ?? ''
    const name = { kind: 'batch', id } as const
    if (this.#next !== '') return { ...name, state: 'done', resultsPath: xaiResultsPath(id, this.#next) }
    // A batch in which nothing came to anything is not billed.
    return { ...name, state: this.#answers === 0 && this.flags.size === 0 ? 'failed' : 'done' }
  }
}

/**
 * Reads the batch object. Its `usage` counts zeros while the batch runs; totals of several models, or of
 * prompts that differ in price, say too little, and then the output file is read.
 */
class BatchReader extends OpenaiReader {
  #status = ''
  #outputFile = ''
  #completed = 0
  readonly #counts: XaiCounts = {}

  constructor(head: AnswerHead, context: UsageReaderContext) {
    super(head, context, batch, 'batch')
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'requests' || name === 'pending') this.#counts[name] = Number(value)
    if (name === 'cancelTime') this.#counts.isCancelled = true
    if (name === 'completed') this.#completed = typeof value === 'number' ? value : 0
    if (typeof value !== 'string') return
    if (name === 'status') this.#status = value
    else if (name === 'errorFile') this.nameObject('file', value)
    else if (name === 'outputFile') {
      this.#outputFile = value
      this.nameObject('file', value, { resultsOf: this.context.object?.id ?? this.objectId })
    }
  }

  protected override measure(): AnswerMeasure {
    const usage = this.usage()
    // A job without one model, or whose prompts may differ in price, names none.
    const isTotal = finalStatuses.has(this.#status) && (this.context.facts.model ?? '') !== ''
    const measure = isTotal && usage ? measureTokens(usage, this.context.providerKind) : undefined
    if (measure === undefined || isNothing(measure.meters)) return { lines: [], details: {} }
    const line = { meters: measure.meters, tier: 'batch', sumOf: Math.max(1, this.#completed) }
    return { lines: [line], details: measure.details }
  }

  protected override jobState(hasTotals: boolean): ReturnType<OpenaiReader['jobState']> {
    if (this.#status === '' && this.#counts.requests !== undefined) return this.#xaiState()
    if (failedStatuses.has(this.#status)) return { state: 'failed' }
    if (!finalStatuses.has(this.#status)) return { state: 'running' }
    if (hasTotals) return { state: 'done' }
    // Without an output file no request came to anything.
    if (this.#outputFile === '') return { state: 'failed' }
    return { state: 'done', resultsPath: `/files/${encodeURIComponent(this.#outputFile)}/content` }
  }

  /** A batch without requests is being looked through, unless that has failed: xAI cancels it then. */
  #xaiState(): ReturnType<OpenaiReader['jobState']> {
    const { requests = 0, pending = 0, isCancelled = false } = this.#counts
    if (pending > 0 || (requests === 0 && !isCancelled)) return { state: 'running' }
    return { state: 'done', resultsPath: xaiResultsPath(this.context.object?.id ?? this.objectId) }
  }
}

interface XaiCounts {
  requests?: number
  pending?: number
  isCancelled?: boolean
}

function isNothing(meters: AnswerMeasure['lines'][number]['meters']): boolean {
  return Object.values(meters).every(units => units === 0)
}

const readUsage: NonNullable<Operation['readUsage']> = (head, context) => new BatchReader(head, context)

/** What making a batch is, in whatever words. */
export const batchSubmission = {
  body: 'json',
  modelIn: 'none',
  isFree: false,
  mainMeter: 'output',
  isBatch: true,
  readUsage,
  namesObjects: true,
} as const

/** `POST /batches` */
const createBatch: Operation = {
  ...batchSubmission,
  name: 'batch',
  interest: request,
  factsFromJson: batchFacts,
}

/** What can be asked of a batch by its id. */
export const batches = jobOperations('batch', readUsage)

const pathOf = (id: string): string => `/batches/${encodeURIComponent(id)}`

const batchList = openaiList('batch-list', {
  kind: 'batch',
  retrieval: batches.stored,
  path: pathOf,
  limit: { usual: 20, max: 100 },
})

/** Batches, below `/v1`. */
export const openaiBatchRows: readonly RouteRow[] = [
  { methods: ['POST'], path: '/batches', operation: createBatch },
  { methods: ['GET'], path: '/batches', operation: batchList },
  { methods: ['GET'], path: '/batches/{id}', operation: batches.stored, object: 'batch' },
  { methods: ['POST'], path: '/batches/{id}/cancel', operation: batches.cancelled, object: 'batch' },
]

/** Where Mistral shows a batch. */
export function mistralBatchPath(id: string): string {
  return `/batch/jobs/${encodeURIComponent(id)}`
}

/** Batches run for a day; the provider takes its time to end those that are late. */
export const batchJobs: JobKind = {
  kind: 'batch',
  retrieval: batches.stored,
  results: {
    ...freeOperation('batch-output'),
    readUsage: (head, context) =>
      context.providerKind === 'xai' ? new XaiResultsReader(head, context) : new BatchOutputReader(context),
  },
  path: (id, providerKind) => (providerKind === 'mistral' ? mistralBatchPath(id) : pathOf(id)),
  // A week is the longest that Mistral takes.
  durationMsMax: 8 * 86_400_000,
}

/** @throws GatewayError body_invalid, not_supported */
function batchFacts(scan: ScanResult, body: { readonly length: number }): RequestFacts {
  const facts = factsFrom(scan, body)
  const file = facts.objects.find(({ kind }) => kind === 'file')
  const endpoint = readString(scan, 'endpoint')
  if (file === undefined) {
    throw new GatewayError(
      'body_invalid',
      'The request names no input_file_id. Upload the requests first: batches to which they are added later, such as xAI has, are not served.',
      { param: 'input_file_id' },
    )
  }
  if (endpoint !== undefined && !batchEndpoints.has(endpoint)) {
    throw new GatewayError(
      'not_supported',
      `Batches are for ${[...batchEndpoints.keys()].join(', ')} here, not for ${endpoint}.`,
      { param: 'endpoint' },
    )
  }
  const batch = { file, ...(endpoint !== undefined && { endpoint }), isSaidByEach: true } as const
  return { ...facts, startsJob: true, batch }
}
