import type { ScanResult } from '../../http/json-scan.ts'
import { GatewayError } from '../../errors.ts'
import type { NamedObject } from '../../money/usage.ts'
import { batchFindingsMax, inlineBatch } from '../batch-requests.ts'
import type { JobKind, Operation, RequestFacts } from '../dialect.ts'
import { freeOperation, unsupportedOperation } from '../free-operation.ts'
import { list, object, value } from '../interest.ts'
import { readString } from '../read-field.ts'
import type { RouteRow } from '../route-table.ts'
import { batchRequestsMax, googleBatchedRequest } from './batch-input.ts'
import { GoogleBatchFileReader, GoogleBatchReader } from './batch-reader.ts'

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
  findingsMax: batchFindingsMax,
  factsFromJson: (scan, body) => batchFacts(scan, body, 'generateContent'),
  readUsage,
  namesObjects: true,
}

/** `POST /models/{model}:asyncBatchEmbedContent` */
export const asyncBatchEmbedContent: Operation = {
  ...batchGenerateContent,
  name: 'batch-embed',
  mainMeter: 'input',
  factsFromJson: (scan, body) => batchFacts(scan, body, 'embedContent'),
}

/** `GET /batches/{id}` */
const storedBatch: Operation = {
  ...freeOperation('stored-batch'),
  readUsage,
  namesObjects: true,
  job: 'reads',
}

/** `POST /batches/{id}:cancel`, whose answer is empty. */
const cancelledBatch: Operation = freeOperation('cancelled-batch', { body: 'opaque' })

/** `DELETE /batches/{id}` */
const deletedBatch: Operation = { ...freeOperation('deleted-batch', { body: 'opaque' }), job: 'ends' }

const batchList = unsupportedOperation(
  'batch-list',
  'Lists of batches are not in this release; keep the names of those that you make.',
)

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
  { methods: ['GET'], path: '/batches/{id}', operation: storedBatch, object: 'batch', idFrom: 'batches' },
  { methods: ['DELETE'], path: '/batches/{id}', operation: deletedBatch, object: 'batch', idFrom: 'batches' },
]

/** Batches are to end within a day, and expire after two. */
export const batchJobs: JobKind = {
  kind: 'batch',
  retrieval: storedBatch,
  results: {
    ...freeOperation('batch-results'),
    readUsage: (_head, context) => new GoogleBatchFileReader(context),
  },
  path: id => `/${id}`,
  durationMsMax: 4 * 86_400_000,
}

/** @throws GatewayError body_invalid */
function batchFacts(scan: ScanResult, body: { readonly length: number }, endpoint: string): RequestFacts {
  const path = readString(scan, 'inputFile')
  const requests = inlineBatch(scan, { requestsMax: batchRequestsMax, endpoint, model: '*' })
  const file: NamedObject | undefined = path === undefined ? undefined : { kind: 'file', id: path }
  if ((file === undefined) === (requests.requests === 0)) {
    throw new GatewayError(
      'body_invalid',
      'A batch needs either batch.inputConfig.requests or batch.inputConfig.fileName.',
      { param: 'batch.inputConfig' },
    )
  }
  const model = readString(scan, 'batchModel')
  return {
    isStreaming: false,
    candidates: 1,
    textBytes: body.length,
    media: [],
    objects: file === undefined ? [] : [file],
    startsJob: true,
    batch: {
      ...(model !== undefined && { model }),
      ...(file === undefined ? { requests } : { file, endpoint }),
    },
  }
}
