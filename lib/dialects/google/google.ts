import type { Dialect } from '../dialect.ts'
import { genericOperation } from '../generic.ts'
import { batchJobs } from './batches.ts'
import { googleErrorBody, googleErrorEvent } from './error-shape.ts'
import { interactionJobs } from './interactions.ts'
import { operationJobs } from './long-running.ts'
import { googleModelList } from './model-list.ts'
import { googleRoutes, matchGoogle } from './routes.ts'

/** The format of the Gemini API. */
export const google: Dialect = {
  name: 'google',
  match: matchGoogle,
  routes: googleRoutes,
  generic: genericOperation,
  jobKinds: [batchJobs, operationJobs, interactionJobs],
  requestIdHeader: 'x-request-id',
  errorBody: error => googleErrorBody(error),
  errorEvent: error => googleErrorEvent(error),
  modelList: googleModelList,
}
