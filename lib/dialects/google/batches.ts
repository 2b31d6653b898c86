import type { ScanResult, Interest, Finding } from '../../http/json-scan.ts'
import { GatewayError } from '../../pipeline/errors.ts'
import type { BatchFacts } from '../../money/batch-facts.ts'
import { InlineBatchReader, addRequest, batchedRequest, type BatchedRequests } from '../batch-requests.ts'
import type { Operation, UsageReaderContext } from '../dialect.ts'
import { jobOperations, type JobKind, freeOperation, paidOperation } from '../operation-kinds.ts'
import { list, object, value, span } from '../interest.ts'
import { readString } from '../read-field.ts'
import { route, type RouteRow } from '../route-table.ts'
import { googleList } from '../object-list.ts'
import type { JobSighting, UsageReading } from '../../money/usage.ts'
import { ResponseReader } from '../response-reader.ts'
import { BatchSum, batchReading, BatchResultsReader, lastValue, textBytesOf } from '../batch-results.ts'
import { responseOf, drawnTokens, UsageFields } from '../measure.ts'
import { Grounding, groundingInterest, generateContent } from './generate-content.ts'
import { generateNames, measureMetadata } from './usage-metadata.ts'
import { BatchLinesReader } from '../batch-tally.ts'
import { embedContent } from './embed-content.ts'

const batchRequestsMax = 100_000

/** What a batch of either kind requests, and for which model where it repeats it. */
const ofEither: Interest = {
  members: new Map([
    ...[generateContent, embedContent].flatMap(({ interest }) => [...(interest?.members ?? [])]),
    ['model', value('model')],
  ]),
}

/** One request inside a batch: `{request: {contents, generationConfig}, metadata}`. */
const googleBatchedRequest = batchedRequest(object({ request: ofEither }))

/** Reads JSON lines of `{key, request}`. The model is named when the batch is made. */
export class GoogleBatchInputReader extends BatchLinesReader {
  constructor() {
    super(googleBatchedRequest, { requestsMax: batchRequestsMax, foldUnderscores: true })
  }

  protected override addLine(findings: readonly Finding[], at: string): void {
    addRequest(this.tally, findings, { at, endpoint: '', model: '*' })
  }
}

const requests = object({ requests: list(googleBatchedRequest) })
const request = object({
  batch: object({
    model: value('batchModel'),
    inputconfig: object({ filename: value('inputFile'), requests }),
  }),
})

/** The interest in one response of a batch, under names with a prefix. */
function responseInterest(prefix = ''): Interest {
  const text = value(`${prefix}text`)
  const part = object({
    text,
    functioncall: object({ args: text }),
    executablecode: object({ code: text }),
    inlinedata: object({ data: span(`${prefix}image`) }),
  })
  const response = object({
    usagemetadata: value(`${prefix}tokens`),
    // Embeddings have this number alone.
    tokencount: value(`${prefix}count`),
    modelversion: value(`${prefix}version`),
    candidates: list(
      object({ content: object({ parts: list(part) }), groundingmetadata: groundingInterest(prefix) }),
    ),
    embedding: span(`${prefix}made`),
  })
  return { ...span(`${prefix}answer`), ...response }
}

/** One response of a batch, built as its values arrive. */
class BatchedResponse {
  readonly #grounding = new Grounding()
  #usage: unknown
  #hasOutput = false
  #textBytes = 0
  #images = 0

  take(name: string, found: unknown): void {
    if (found === undefined || found === null || this.#grounding.take(name, found)) return
    if (name === 'tokens') this.#usage = found
    else if (name === 'count') this.#usage ??= { promptTokenCount: Number(found) }
    else if (name === 'text') this.#textBytes += textBytesOf(found)
    else if (name === 'image') this.#images += 1
    else if (name === 'made') this.#hasOutput = true
  }

  /** @param model the responding model */
  addTo(sum: BatchSum, model: string | undefined, flags: Set<string>): void {
    sum.addSearches(undefined, this.#grounding.count(model))
    const usage = this.#usage === undefined ? undefined : new UsageFields(this.#usage, flags)
    const { lines, details } = responseOf(usage && measureMetadata(usage, generateNames))
    const shown = {
      model: undefined,
      hasOutput: this.#hasOutput || this.#textBytes + this.#images > 0,
      textBytes: this.#textBytes,
      imageTokens: this.#images * drawnTokens,
    }
    sum.addResult({ lines: lines.map(line => ({ ...line, tier: 'batch' })), details }, shown, flags)
  }
}

/** The results of the requests; they may be in one of two places, or in both. */
function output(place: string): ReturnType<typeof object> {
  const responses = object({ inlinedresponses: list(object({ response: responseInterest(`${place}:`) })) })
  return object({
    responsesfile: value(`${place}:file`),
    inlinedresponses: responses,
    inlinedembedcontentresponses: responses,
  })
}

const operation = object({
  name: value('id'),
  done: value('done'),
  metadata: object({ model: value('model'), state: value('state'), output: output('metadata') }),
  response: output('response'),
})

const finalStates: ReadonlySet<string> = new Set(
  ['SUCCEEDED', 'PARTIALLY_SUCCEEDED', 'FAILED', 'CANCELLED', 'EXPIRED'].map(state => `BATCH_STATE_${state}`),
)

/** The responses in one place. */
class Output {
  file = ''
  readonly answers: BatchedResponse[] = []

  get isEmpty(): boolean {
    return this.file === '' && this.answers.length === 0
  }
}

/** Reads the operation of a batch, which contains the responses unless they are in a file. */
class GoogleBatchReader extends ResponseReader {
  readonly #outputs = new Map([
    ['response', new Output()],
    ['metadata', new Output()],
  ])
  #isOver = false

  override end(): UsageReading {
    const { isTerminal } = super.end()
    const output = [...this.#outputs.values()].find(({ isEmpty }) => !isEmpty) ?? new Output()
    const job = this.objectId === '' ? undefined : this.#sighting(output)
    const sum = new BatchSum()
    if (job?.state === 'done' && job.resultsPath === undefined)
      for (const response of output.answers) response.addTo(sum, this.model, this.flags)
    return batchReading(sum, this.flags, { isTerminal, ...(job !== undefined && { job }) })
  }

  protected override onValue(name: string, value: unknown): void {
    if (name === 'done') this.#isOver ||= value === true
    else if (name === 'state') this.#isOver ||= finalStates.has(String(value))
    const [place = '', what = ''] = name.split(':')
    const output = this.#outputs.get(place)
    if (output === undefined) return
    if (what === 'file' && typeof value === 'string') {
      output.file = value
      this.nameObject('file', value, { resultsOf: this.context.object?.id ?? this.objectId })
    } else if (what === 'answer') output.answers.push(new BatchedResponse())
    else output.answers.at(-1)?.take(what, value)
  }

  #sighting({ file, isEmpty }: Output): JobSighting {
    const name = { kind: 'batch', id: this.objectId } as const
    if (!this.#isOver) return { ...name, state: 'running' }
    // A batch that failed, or was canceled before any work, has no output.
    if (isEmpty) return { ...name, state: 'failed' }
    if (file === '') return { ...name, state: 'done' }
    return { ...name, state: 'done', resultsPath: `/${file}:download?alt=media` }
  }
}

const line = object({ response: responseInterest() })

/**
 * Reads the file of responses: JSON lines of `{key, response}`, and `{key, error}` for requests that are not billed.
 */
class GoogleBatchFileReader extends BatchResultsReader {
  constructor(context: UsageReaderContext) {
    super(context, line)
  }

  protected override takeResult({ findings }: ScanResult): void {
    if (!findings.some(({ name, type }) => name === 'answer' && type === 'object')) return
    const version = lastValue(findings, 'version')
    const response = new BatchedResponse()
    for (const { name, type, raw } of findings)
      if (type !== 'null') response.take(name, raw === undefined ? type : JSON.parse(raw.toString('utf8')))
    response.addTo(this.sum, typeof version === 'string' ? version : undefined, this.flags)
  }
}

const readUsage: NonNullable<Operation['readUsage']> = (head, context) =>
  new GoogleBatchReader(head, context, operation, 'batch')

/** `POST /models/{model}:batchGenerateContent` */
export const batchGenerateContent = paidOperation('batch', 'output', {
  modelIn: 'path',
  interest: request,
  readJsonParts: () => readParts('generateContent'),
  isBatch: true,
  readUsage,
  namesObjects: true,
})

/** `POST /models/{model}:asyncBatchEmbedContent` */
export const asyncBatchEmbedContent: Operation = {
  ...batchGenerateContent,
  name: 'batch-embed',
  mainMeter: 'input',
  readJsonParts: () => readParts('embedContent'),
}

const batches = jobOperations('batch', readUsage)

/** `POST /batches/{id}:cancel`, whose response is empty. */
const cancelledBatch: Operation = freeOperation('cancelled-batch', { body: 'opaque' })

const batchList = googleList('batch-list', {
  kind: 'batch',
  member: 'operations',
  retrieval: batches.stored,
  path: name => `/${name}`,
  limit: { usual: 50, max: 1000 },
})

/** Batches, below `/v1beta`; a method of their model creates them. */
export const googleBatchRows: readonly RouteRow[] = [
  route('GET', '/batches', batchList),
  route('POST', '/batches/{id}:cancel', cancelledBatch, { object: 'batch', idFrom: 'batches' }),
  route('GET', '/batches/{id}', batches.stored, { object: 'batch', idFrom: 'batches' }),
  route('DELETE', '/batches/{id}', batches.deleted, { object: 'batch', idFrom: 'batches' }),
]

/** Batches should end within a day, and expire after two. */
export const batchJobs: JobKind = {
  kind: 'batch',
  retrieval: batches.stored,
  results: {
    ...freeOperation('batch-results'),
    readUsage: (_head, context) => new GoogleBatchFileReader(context),
  },
  path: id => `/${id}`,
  durationMsMax: 4 * 86_400_000,
}

/** @throws GatewayError body_invalid */
function describeBatch(requests: BatchFacts, rest: ScanResult, endpoint: string): BatchedRequests {
  const path = readString(rest, 'inputFile')
  if ((path === undefined) === (requests.requests === 0)) {
    throw new GatewayError(
      'body_invalid',
      'A batch needs either batch.inputConfig.requests or batch.inputConfig.fileName.',
      { param: 'batch.inputConfig' },
    )
  }
  const model = readString(rest, 'batchModel')
  return {
    ...(model !== undefined && { model }),
    ...(path === undefined ? { requests } : { file: { kind: 'file', id: path }, endpoint }),
  }
}

function readParts(endpoint: string): InlineBatchReader {
  const batch = { requestsMax: batchRequestsMax, endpoint, model: '*' }
  return new InlineBatchReader(batch, (requests, rest) => describeBatch(requests, rest, endpoint))
}
