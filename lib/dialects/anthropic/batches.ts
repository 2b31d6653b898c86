import { ResponseReader } from '../response-reader.ts'
import { batchedRequest, InlineBatchReader } from '../batch-requests.ts'
import type { Operation, UsageReaderContext } from '../dialect.ts'
import { type JobKind, jobOperations, freeOperation, paidOperation } from '../operation-kinds.ts'
import { list, object, value, span } from '../interest.ts'
import { route, type RouteRow } from '../route-table.ts'
import { batchedMessage } from './messages.ts'
import type { ScanResult } from '../../http/json-scan.ts'
import { BatchResultsReader, lastUsage, lastValue, modelIn, shownIn } from '../batch-results.ts'
import { measureLines } from './message-lines.ts'
import { anthropicList } from '../object-list.ts'

const request = object({ requests: list(batchedRequest(object({ params: batchedMessage }))) })
const requestsMax = 100_000
const root = '/messages/batches'

const batch = object({
  id: value('id'),
  processing_status: value('status'),
  request_counts: object({ succeeded: value('succeeded') }),
})

/** Reads the batch object, which reports how many requests succeeded and no usage. */
class BatchReader extends ResponseReader {
  #status = ''
  #succeeded = 0

  protected override onValue(name: string, value: unknown): void {
    if (name === 'status' && typeof value === 'string') this.#status = value
    if (name === 'succeeded' && typeof value === 'number') this.#succeeded = value
  }

  protected override jobState(): ReturnType<ResponseReader['jobState']> {
    if (this.#status !== 'ended') return { state: 'running' }
    // Requests that errored, were canceled or expired are not billed.
    if (this.#succeeded === 0) return { state: 'failed' }
    return { state: 'done', resultsPath: `${pathOf(this.objectId)}/results` }
  }
}

function pathOf(id: string): string {
  return `${root}/${encodeURIComponent(id)}`
}

const readUsage: NonNullable<Operation['readUsage']> = (head, context) =>
  new BatchReader(head, context, batch, 'batch')

/** `POST /messages/batches` */
const createBatch = paidOperation('batch', 'output', {
  modelIn: 'none',
  interest: request,
  readJsonParts: () =>
    new InlineBatchReader({ requestsMax, endpoint: '/v1/messages' }, requests => ({ requests })),
  isBatch: true,
  readUsage,
  namesObjects: true,
})

/** Only batches that have ended can be deleted; their results are deleted with them. */
const batches = jobOperations('batch', readUsage)

const text = value('text')
const line = object({
  result: object({
    type: value('type'),
    message: object({
      model: value('model'),
      stop_reason: value('stopReason'),
      content: list(object({ text, thinking: text, input: text }, span('block'))),
      usage: value('usage'),
    }),
  }),
})

/** Reads the results of a batch. Only requests that succeeded have a message and are billed. */
class BatchMessagesReader extends BatchResultsReader {
  constructor(context: UsageReaderContext) {
    super(context, line)
  }

  protected override takeResult({ findings }: ScanResult): void {
    if (lastValue(findings, 'type') !== 'succeeded') return
    const isRefusal = lastValue(findings, 'stopReason') === 'refusal'
    if (isRefusal && !findings.some(({ name }) => name === 'block')) {
      // A refusal before any output reports usage and is not billed.
      this.flags.add('refusal_unbilled')
      return
    }
    const usage = lastUsage(findings, 'usage', this.flags)
    const { lines, details } = usage === undefined ? { lines: [], details: {} } : measureLines(usage)
    this.sum.addResult(
      { lines: lines.map(one => ({ ...one, tier: one.tier ?? 'batch' })), details },
      { model: modelIn(findings), ...shownIn(findings) },
      this.flags,
    )
  }
}

/** `GET /messages/batches/{id}/results` */
const batchResults: Operation = {
  ...freeOperation('batch-results'),
  readUsage: (_head, context) => new BatchMessagesReader(context),
  job: 'reads',
}

const batchList = anthropicList('batch-list', { kind: 'batch', retrieval: batches.stored, path: pathOf })

/** Batches, below `/v1`. */
export const anthropicBatchRows: readonly RouteRow[] = [
  route('POST', root, createBatch),
  route('GET', root, batchList),
  route('GET', `${root}/{id}`, batches.stored, { object: 'batch' }),
  route('DELETE', `${root}/{id}`, batches.deleted, { object: 'batch' }),
  route('POST', `${root}/{id}/cancel`, batches.cancelled, { object: 'batch' }),
  route('GET', `${root}/{id}/results`, batchResults, { object: 'batch' }),
]

/** Batches end within a day; their results are available for 29 days. */
export const batchJobs: JobKind = {
  kind: 'batch',
  retrieval: batches.stored,
  results: batchResults,
  path: pathOf,
  durationMsMax: 3 * 86_400_000,
}
