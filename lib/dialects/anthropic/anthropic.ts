import type { Dialect } from '../dialect.ts'
import { freeOperation } from '../free-operation.ts'
import { genericOperation } from '../generic.ts'
import { RouteTable } from '../route-table.ts'
import { anthropicBatchRows, batchJobs } from './batches.ts'
import { anthropicErrorBody, anthropicErrorEvent } from './error-shape.ts'
import { anthropicFileRows } from './files.ts'
import { countTokens, messages } from './messages.ts'
import { anthropicModelList } from './model-list.ts'

const models = freeOperation('models', { isModelList: true })

const routes = new RouteTable([
  { methods: ['POST'], path: '/messages', operation: messages },
  { methods: ['POST'], path: '/messages/count_tokens', operation: countTokens },
  ...anthropicBatchRows,
  ...anthropicFileRows,
  { methods: ['GET'], path: '/models', operation: models },
  { methods: ['GET'], path: '/models/{rest}', operation: models, isModel: true },
  // Claude Code asks at the origin whether there is somebody, not below the base URL.
  { methods: ['HEAD', 'GET'], path: '/api/hello', operation: freeOperation('hello'), isAtOrigin: true },
])

/** The format of Anthropic's Messages API. */
export const anthropic: Dialect = {
  name: 'anthropic',
  match: (method, pathAndQuery) => routes.match(method, pathAndQuery),
  routes: routes.rows,
  generic: genericOperation,
  jobKinds: [batchJobs],
  requestIdHeader: 'request-id',
  errorBody: anthropicErrorBody,
  errorEvent: anthropicErrorEvent,
  modelList: anthropicModelList,
}
