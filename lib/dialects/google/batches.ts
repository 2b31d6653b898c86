import type { ScanResult } from '../../http/json-scan.ts'
import { GatewayError } from '../../pipeline/errors.ts'
import type { BatchFacts } from '../../money/batch-facts.ts'
import { InlineBatchReader } from '../batch-requests.ts'
import type { Operation } from '../dialect.ts'
import type { BatchedRequests } from '../batched-requests.ts'
import type { JobKind } from '../job-kind.ts'
import { freeOperation } from '../free-operation.ts'
import { list, object, value } from '../interest.ts'
import { jobOperations } from '../job-operations.ts'
import { readString } from '../read-field.ts'
import type { RouteRow } from '../route-table.ts'
import { batchRequestsMax, googleBatchedRequest } from './batch-input.ts'
import { GoogleBatchFileReader, GoogleBatchReader } from './batch-reader.ts'
import { googleList } from './object-list.ts'

const requests = object({ requests: list(googleBatchedRequest) })
const request = object({
  batch: object({
    model: value('batchModel'),
    inputconfig: object({ filename: value('inputFile'), requests }),
  }),
})

const readUsage: NonNullable<Operation['readUsage']> = (head, context) => new GoogleBatchReader(head, context)

/** `POST /models/{model}:batchGenerateContent` */
export const batchGenerateContent: Operation = {
  name: 'batch',
  body: 'json',
  modelIn: 'path',
  isFree: false,
  mainMeter: 'output',
  interest: request,
  readJsonParts: () => readParts('generateContent'),
  isBatch: true,
  readUsage,
  namesObjects: true,
}

/** `POST /models/{model}:asyncBatchEmbedContent` */
export const asyncBatchEmbedContent: Operation = {
  ...batchGenerateContent,
  name: 'batch-embed',
  mainMeter: 'input',
  readJsonParts: () => readParts('embedContent'),
}

const batches = jobOperations('batch', readUsage)

/** `POST /batches/{id}:cancel`, whose answer is empty. */
const cancelledBatch: Operation = freeOperation('cancelled-batch', { body: 'opaque' })

const batchList = googleList('batch-list', {
  kind: 'batch',
  member: 'operations',
  retrieval: batches.stored,
  path: name => `/${name}`,
  limit: { usual: 50, max: 1000 },
})

/** Batches, below `/v1beta`; they are made by a method of their model. */
export const googleBatchRows: readonly RouteRow[] = [
  { methods: ['GET'], path: '/batches', operation: batchList },
  {
    methods: ['POST'],
    path: '/batches/{id}:cancel',
    operation: cancelledBatch,
    object: 'batch',
    idFrom: 'batches',
  },
  { methods: ['GET'], path: '/batches/{id}', operation: batches.stored, object: 'batch', idFrom: 'batches' },
  {
    methods: ['DELETE'],
    path: '/batches/{id}',
    operation: batches.deleted,
    object: 'batch',
    idFrom: 'batches',
  },
]

/** Batches are to end within a day, and expire after two. */
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
