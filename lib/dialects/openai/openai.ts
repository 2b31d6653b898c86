import type { Dialect } from '../dialect.ts'
import { genericOperation } from '../generic.ts'
import { openaiErrorBody, openaiErrorEvent } from './error-shape.ts'
import { openaiModelList } from './model-list.ts'
import { batchJobs } from './batches.ts'
import { batchParts } from './xai-batches.ts'
import { realtime, withQueryModel } from './realtime.ts'
import { responseJobs } from './responses.ts'
import { openaiRoutes } from './routes.ts'
import { storeDays } from './vector-stores.ts'
import { videoJobs } from './videos.ts'

/** The format of OpenAI's API, which most providers offer beside or instead of their own. */
export const openai: Dialect = {
  name: 'openai',
  match(method, pathAndQuery) {
    const match = openaiRoutes.match(method, pathAndQuery)
    return match.operation === realtime ? withQueryModel(match) : match
  },
  routes: openaiRoutes.rows,
  generic: genericOperation,
  jobKinds: [batchJobs, batchParts, videoJobs, responseJobs, storeDays],
  requestIdHeader: 'x-request-id',
  errorBody: error => openaiErrorBody(error),
  errorEvent: (error, _exchangeId, operationName) => openaiErrorEvent(error, operationName),
  modelList: openaiModelList,
}
