import type { Dialect } from '../dialect.ts'
import { genericOperation } from '../generic.ts'
import { batchJobs } from './batches.ts'
import { batchParts } from './xai-batches.ts'
import { realtime, withQueryModel } from './realtime.ts'
import { responseJobs } from './responses.ts'
import { openaiRoutes } from './routes.ts'
import { storeDays } from './vector-stores.ts'
import { videoJobs } from './videos.ts'
import type { GatewayError } from '../../pipeline/errors.ts'
import { requireModel } from '../require-model.ts'

interface OpenaiError {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string
}

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

function shape({ row, message }: GatewayError, param: string | undefined): OpenaiError {
  const { type, code } = row.openai
  return { message, type, param: param ?? null, code }
}

/** `{"error": {message, type, param, code}}`; facts of a refusal, such as `required`, stand beside. */
function openaiErrorBody(error: GatewayError): string {
  return JSON.stringify({ error: { ...shape(error, error.param), ...error.details } })
}

/** Official SDKs raise on any data with an `error`; the responses' own error events have a name and a type. */
function openaiErrorEvent(cause: GatewayError, operationName?: string): Buffer {
  const error = shape(cause, undefined)
  if (operationName?.startsWith('responses') !== true) {
    return Buffer.from(`data: ${JSON.stringify({ error })}\n\n`)
  }
  const data = { type: 'error', code: error.code, message: error.message, param: null, error }
  return Buffer.from(`event: error\ndata: ${JSON.stringify(data)}\n\n`)
}

/** `{object: "list", data: [...]}`, or one model. @throws GatewayError model_not_found */
function openaiModelList(models: readonly string[], only: string | undefined): unknown {
  if (only === undefined) return { object: 'list', data: models.map(model) }
  requireModel(models, only)
  return model(only)
}

function model(id: string): unknown {
  return { id, object: 'model', created: 0, owned_by: 'gateway' }
}
