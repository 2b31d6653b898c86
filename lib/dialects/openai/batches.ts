import type { ScanResult, Finding } from '../../http/json-scan.ts'
import { GatewayError } from '../../pipeline/errors.ts'
import type { Operation, RequestFacts, UsageReaderContext } from '../dialect.ts'
import { jobOperations, type JobKind, freeOperation } from '../operation-kinds.ts'
import { anyOf, object, value, list, span } from '../interest.ts'
import { responseOf, isZero, type ResponseMeasure, type Measure, type UsageFields } from '../measure.ts'
import { names } from '../named-objects.ts'
import { readString } from '../read-field.ts'
import { factsFrom } from '../request-facts.ts'
import { route, type RouteRow } from '../route-table.ts'
import { batchEndpoints } from './batch-input.ts'
import { openaiList } from '../object-list.ts'
import { OpenaiReader, measureTokens } from './openai-reader.ts'
import { XaiCounts, xaiCounts, XaiResultsReader } from './xai-batch-results.ts'
import { BatchResultsReader, lastUsage, lastValue, modelIn, shownIn } from '../batch-results.ts'
import type { UsageLine } from '../../money/usage.ts'
import { drawnLine, drawnUncounted, imageMeters, imageVariant } from './drawing-tool.ts'
import { knownProvider } from '../../providers/known-providers.ts'

/** Responses with texts and tool calls, in the shapes of chats, completions and responses. */
const text = value('text')
const texts = list(object({ text }))
const choice = object({
  text,
  message: object({
    content: anyOf(text, texts),
    reasoning_content: text,
    refusal: text,
    tool_calls: list(object({ function: object({ arguments: text }) })),
  }),
})
const item = object({
  type: value('outputType'),
  quality: value('quality'),
  arguments: text,
  input: text,
  content: list(object({ text, refusal: text })),
  summary: texts,
})

/** A line of an output file: `{custom_id, response: {status_code, body}, error}`. */
const line = object({
  response: object({
    status_code: value('status'),
    body: object({
      model: value('model'),
      usage: value('usage'),
      tool_usage: value('usageTools'),
      tools: list(object({ model: value('toolModel') })),
      choices: list(choice),
      output: list(item),
      size: value('size'),
      quality: value('quality'),
      data: list(span('made')),
    }),
  }),
})

/** Reads the output file of a batch. It also lists failed requests, which are not billed. */
class BatchOutputReader extends BatchResultsReader {
  constructor(context: UsageReaderContext) {
    super(context, line)
  }

  protected override takeResult({ findings }: ScanResult): void {
    const status = lastValue(findings, 'status')
    if (typeof status !== 'number' || status < 200 || status > 299) return
    const usage = lastUsage(findings, 'usage', this.flags)
    const tokens = usage && measureTokens(usage, this.context.providerKind)
    const isOfImages = this.context.facts.batch?.endpoint === '/v1/images/generations'
    const measure = isOfImages ? images(findings, tokens, usage) : tokens
    const tools = lastUsage(findings, 'usageTools', this.flags)
    const model = modelIn(findings)
    this.sum.addSearches(model, tools?.within('web_search').count('num_requests') ?? 0)
    const drawn = this.#drawn(findings, tools)
    if (drawn !== undefined) this.sum.add({ ...drawn, tier: 'batch' }, {})
    const { lines, details } = responseOf(measure)
    const { hasOutput, textBytes } = shownIn(findings)
    const isMade = drawn !== undefined || findings.some(({ name }) => name === 'made')
    this.sum.addResult(
      { lines: lines.map(line => ({ ...line, tier: 'batch' })), details },
      // Images without tokens are charged by their number, whatever input was read for them.
      { model, hasOutput: hasOutput || (isMade && !isOfImages), textBytes },
      this.flags,
    )
  }

  /** Images that a tool made: by their tokens, or by their number if no tokens are reported. */
  #drawn(findings: readonly Finding[], tools: UsageFields | undefined): UsageLine | undefined {
    const named = lastValue(findings, 'toolModel')
    const drawsWith = typeof named === 'string' ? named : undefined
    const told = tools && drawnLine(tools, drawsWith)
    const images = told === undefined ? findings.filter(isDrawn).length : 0
    if (images === 0) return told
    const quality = lastValue(findings, 'quality')
    this.flags.add('drawing_uncounted')
    return drawnUncounted(images, typeof quality === 'string' ? quality : undefined, drawsWith)
  }
}

/** Whether an item of a response is an image that a tool made. */
function isDrawn({ name, raw }: Finding): boolean {
  return name === 'outputType' && raw?.toString('latin1') === '"image_generation_call"'
}

/** As for a single request: the tokens of images if they are counted, otherwise the number of images. */
function images(
  findings: readonly Finding[],
  tokens: Measure | undefined,
  usage: UsageFields | undefined,
): Measure | undefined {
  const images = findings.filter(({ name }) => name === 'made').length
  const isOfNothing = images > 0 && isZero(responseOf(tokens).lines)
  if (tokens !== undefined && !isOfNothing) return { ...tokens, meters: imageMeters(tokens.meters, usage) }
  const variant = imageVariant(lastValue(findings, 'size'), lastValue(findings, 'quality'))
  return images === 0 ? undefined : { meters: { images }, details: {}, variant }
}

const request = object({ input_file_id: names('file'), endpoint: value('endpoint') })

const batch = object({
  id: value('id'),
  status: value('status'),
  usage: value('usage'),
  output_file_id: value('outputFile'),
  error_file_id: value('errorFile'),
  request_counts: object({ completed: value('completed') }),
  // Mistral's names.
  output_file: value('outputFile'),
  error_file: value('errorFile'),
  // xAI's batches, which have no status.
  batch_id: value('id'),
  ...xaiCounts,
})

/** Batches that were canceled or expired are billed for the completed part; Mistral's statuses are in capitals. */
const finalStatuses: ReadonlySet<string> = new Set(
  'completed cancelled expired SUCCESS CANCELLED TIMEOUT_EXCEEDED'.split(' '),
)
const failedStatuses: ReadonlySet<string> = new Set(['failed', 'FAILED'])

/**
 * Reads the batch object. Its `usage` counts zeros while the batch runs; totals over several models, or over prompts
 * with different prices, are not enough, and then the output file is read.
 */
class BatchReader extends OpenaiReader {
  #status = ''
  #outputFile = ''
  #completed = 0
  readonly #counts = new XaiCounts()

  protected override onValue(name: string, value: unknown): void {
    this.#counts.take(name, value)
    if (name === 'completed') this.#completed = typeof value === 'number' ? value : 0
    if (typeof value !== 'string') return
    if (name === 'status') this.#status = value
    else if (name === 'errorFile') this.nameObject('file', value)
    else if (name === 'outputFile') {
      this.#outputFile = value
      this.nameObject('file', value, { resultsOf: this.context.object?.id ?? this.objectId })
    }
  }

  protected override measure(): ResponseMeasure {
    const usage = this.usage()
    // The facts of a job without a single model, or whose prompts may differ in price, name no model.
    const isTotal = finalStatuses.has(this.#status) && (this.context.facts.model ?? '') !== ''
    const measure = isTotal && usage ? measureTokens(usage, this.context.providerKind) : undefined
    if (measure === undefined || isNothing(measure.meters)) return { lines: [], details: {} }
    const line = { meters: measure.meters, tier: 'batch', sumOf: Math.max(1, this.#completed) }
    return { lines: [line], details: measure.details }
  }

  protected override jobState(hasTotals: boolean): ReturnType<OpenaiReader['jobState']> {
    if (this.#status === '' && this.#counts.isTold)
      return this.#counts.state(this.context.object?.id ?? this.objectId)
    if (failedStatuses.has(this.#status)) return { state: 'failed' }
    if (!finalStatuses.has(this.#status)) return { state: 'running' }
    if (hasTotals) return { state: 'done' }
    // Without an output file no request succeeded.
    if (this.#outputFile === '') return { state: 'failed' }
    return { state: 'done', resultsPath: `/files/${encodeURIComponent(this.#outputFile)}/content` }
  }
}

function isNothing(meters: ResponseMeasure['lines'][number]['meters']): boolean {
  return Object.values(meters).every(units => units === 0)
}

const readUsage: NonNullable<Operation['readUsage']> = (head, context) =>
  new BatchReader(head, context, batch, 'batch')

/** What all operations that create a batch have in common. */
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

/** The operations on a batch by its id. */
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
  route('POST', '/batches', createBatch),
  route('GET', '/batches', batchList),
  route('GET', '/batches/{id}', batches.stored, { object: 'batch' }),
  route('POST', '/batches/{id}/cancel', batches.cancelled, { object: 'batch' }),
]

/** Mistral's path of a batch. */
export function mistralBatchPath(id: string): string {
  return `/batch/jobs/${encodeURIComponent(id)}`
}

/** Batches run for a day; the provider may take longer to end late ones. */
export const batchJobs: JobKind = {
  kind: 'batch',
  retrieval: batches.stored,
  results: {
    ...freeOperation('batch-output'),
    readUsage: (head, context) =>
      knownProvider(context.providerKind).batches === 'xai'
        ? new XaiResultsReader(head, context)
        : new BatchOutputReader(context),
  },
  path: (id, providerKind) =>
    knownProvider(providerKind).batches === 'mistral' ? mistralBatchPath(id) : pathOf(id),
  // A week is the longest duration that Mistral accepts.
  durationMsMax: 8 * 86_400_000,
}

/** @throws GatewayError body_invalid, not_supported */
function batchFacts(scan: ScanResult, body: { readonly length: number }): RequestFacts {
  const facts = factsFrom(scan, body)
  const file = facts.objects.find(({ kind }) => kind === 'file')
  const endpoint = readString(scan, 'endpoint')
  if (file === undefined) return { ...facts, batch: { isEmpty: true } }
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
