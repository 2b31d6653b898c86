import type { ScanResult } from '../../http/json-scan.ts'
import type { BatchFacts } from '../../money/batch-facts.ts'
import type { Meter } from '../../money/usage.ts'
import { GatewayError } from '../../pipeline/errors.ts'
import { InlineBatchReader, type BatchedRequests } from '../batch-requests.ts'
import type { Operation } from '../dialect.ts'
import { list, object, value } from '../interest.ts'
import { names, objectsIn } from '../named-objects.ts'
import { invalid, joinObjects, listOperation, readNumberedPage, readParameter } from '../object-list.ts'
import { findField, readString } from '../read-field.ts'
import { route, type RouteRow } from '../route-table.ts'
import { batchRequestsMax, inlineRequest } from './batch-input.ts'
import { batches, batchSubmission, mistralBatchPath } from './batches.ts'

const request = object({
  input_files: list(names('file')),
  requests: list(inlineRequest),
  endpoint: value('endpoint'),
  model: value('batchModel'),
  agent_id: value('agent'),
})

/** The endpoints for the requests of a batch here, and the meter for which a model must have a price there. */
const endpoints: ReadonlyMap<string, Meter> = new Map([
  ['/v1/chat/completions', 'output'],
  ['/v1/fim/completions', 'output'],
  ['/v1/embeddings', 'input'],
])

/** `POST /batch/jobs`: requests in the body or in a file, all to one endpoint and one model. */
const createBatchJob: Operation = {
  ...batchSubmission,
  name: 'batch-job',
  interest: request,
  readJsonParts: () =>
    new InlineBatchReader({ requestsMax: batchRequestsMax, endpoint: '', model: '*' }, describeBatch),
}

/** @throws GatewayError body_invalid, not_supported */
function describeBatch(requests: BatchFacts, rest: ScanResult): BatchedRequests {
  const files = objectsIn(rest)
  const [file] = files
  if (files.length > 1 || (file === undefined) === (requests.requests === 0)) {
    throw new GatewayError('body_invalid', 'A batch needs either requests or one file in input_files.', {
      param: 'input_files',
    })
  }
  const endpoint = readString(rest, 'endpoint')
  const mainMeter = endpoints.get(endpoint ?? '')
  if (endpoint === undefined || mainMeter === undefined) {
    throw new GatewayError(
      'not_supported',
      `Batches are for ${[...endpoints.keys()].join(', ')} here, not for ${endpoint ?? 'nothing'}.`,
      { param: 'endpoint' },
    )
  }
  const model = readString(rest, 'batchModel')
  const agent = findField(rest, 'agent')
  if (model === undefined || (agent !== undefined && agent.type !== 'null')) {
    throw new GatewayError(
      'not_supported',
      'A batch needs a model here: agents are not made through the gateway.',
      { param: agent === undefined ? 'model' : 'agent_id' },
    )
  }
  return { ...(file === undefined ? { requests } : { file }), endpoint, model, mainMeter }
}

const batchJobList = listOperation('batch-job-list', {
  kind: 'batch',
  retrieval: batches.stored,
  path: mistralBatchPath,
  readPage(query) {
    const { limit, skip } = readNumberedPage(query)
    const status = query.getAll('status').flatMap(one => one.split(','))
    // Which objects of earlier pages have the status is known only by fetching them.
    if (status.length > 0 && skip > 0) throw invalid('page', 'and status exclude each other here')
    return {
      limit,
      skip,
      order: readParameter(query, 'order_by') === 'created' ? 'oldest-first' : 'newest-first',
      ...(status.length > 0 && {
        filter: (job: Readonly<Record<string, unknown>>) => status.includes(String(job['status'])),
      }),
    }
  },
  writePage({ objects, skipped, hasMore }) {
    const total = skipped + objects.length + (hasMore ? 1 : 0)
    return joinObjects('{"object":"list","data":[', objects, `],"total":${total}}`)
  },
})

const path = '/batch/jobs/{id}'

/** Mistral's batches, below `/v1`. */
export const mistralBatchRows: readonly RouteRow[] = [
  route('POST', '/batch/jobs', createBatchJob),
  route('GET', '/batch/jobs', batchJobList),
  route('GET', path, batches.stored, { object: 'batch' }),
  route('DELETE', path, batches.deleted, { object: 'batch' }),
  route('POST', `${path}/cancel`, batches.cancelled, { object: 'batch' }),
]
