import { freeOperation, unsupportedOperation } from '../free-operation.ts'
import type { RouteRow } from '../route-table.ts'
import { batches } from './batches.ts'

/** What is added later would be planned and held for by nobody. */
const addedLater = unsupportedOperation(
  'batch-requests',
  'Requests are not added to a batch here: upload them as a file, and name it as input_file_id when the batch is made.',
)

/** What xAI has beside OpenAI's paths of batches, below `/v1`. */
export const xaiBatchRows: readonly RouteRow[] = [
  { methods: ['POST'], path: '/batches/{id}:cancel', operation: batches.cancelled, object: 'batch' },
  {
    methods: ['GET'],
    path: '/batches/{id}/results',
    operation: freeOperation('stored-batch-results'),
    object: 'batch',
  },
  { methods: ['POST', 'GET'], path: '/batches/{id}/requests', operation: addedLater },
]
