import type { Dialect } from '../dialect.ts'
import { genericOperation } from '../generic.ts'
import { batchJobs, openaiBatchRows } from './batches.ts'
import { batchParts, xaiBatchRows } from './xai-batches.ts'
import { realtime, withQueryModel, realtimeCall, realtimeHangup, realtimeKeys } from './realtime.ts'
import {
  responseJobs,
  responseInputItems,
  responses,
  responsesCompact,
  responsesInputTokens,
  storedResponses,
} from './responses.ts'
import { storeDays, openaiVectorStoreRows } from './vector-stores.ts'
import { videoJobs, openaiVideoRows } from './videos.ts'
import type { GatewayError } from '../../pipeline/errors.ts'
import { modelRows, route, RouteTable, unsupportedRows } from '../route-table.ts'
import { chat } from './chat.ts'
import { completions } from './completions.ts'
import { openaiConversationRows } from './conversations.ts'
import { embeddings } from './embeddings.ts'
import { openaiFileRows } from './files.ts'
import { imageEdits, imageGenerations, imageVariations } from './images.ts'
import { mistralBatchRows } from './mistral-batches.ts'
import { moderations } from './moderations.ts'
import { ocr } from './ocr.ts'
import { responsesConnection } from './responses-connection.ts'
import { rerank } from './rerank.ts'
import { speech, xaiVoiceRows } from './speech.ts'
import { transcriptions, translations } from './transcriptions.ts'
import { xaiVideoRows } from './xai-videos.ts'

const assistantsGone =
  'OpenAI shut its Assistants API down on 2026-08-26. Use /v1/responses, with /v1/conversations in place of threads.'

/** Operations that keep running at the provider, are billed later, or bypass the gateway. */
const unsupported: readonly (readonly [string, string])[] = [
  ['videos', 'This is not in this release; videos are made, remixed, read and deleted one by one.'],
  ['containers', 'Containers are not in this release.'],
  ['assistants', assistantsGone],
  ['threads', assistantsGone],
  [
    'live',
    "GPT-Live's sessions are not in this release, and no model of them is sold. Use /v1/realtime with a model such as gpt-realtime.",
  ],
  ['evals', 'Evals are not in this release.'],
  // A model in the path takes precedence over the one in the body, which determines the price.
  ['engines', 'Engines are not in this release; name the model in the body.'],
  ['deployments', 'Deployments are not in this release; name the model in the body.'],
  ['fine_tuning', 'Fine-tuning is not in this release.'],
]

/** The operations served below `/v1`, and those refused with a reason. */
const openaiRoutes = new RouteTable([
  route('POST', '/chat/completions', chat),
  route('POST', '/completions', completions),
  route('POST', '/responses', responses),
  route('GET', '/responses', responsesConnection),
  route('POST', '/responses/input_tokens', responsesInputTokens),
  route('POST', '/responses/compact', responsesCompact),
  route('GET', '/responses/{id}', storedResponses.stored, { object: 'response' }),
  route('DELETE', '/responses/{id}', storedResponses.deleted, { object: 'response' }),
  route('POST', '/responses/{id}/cancel', storedResponses.cancelled, { object: 'response' }),
  route('GET', '/responses/{id}/input_items', responseInputItems, { object: 'response' }),
  route('POST', '/embeddings', embeddings),
  route('POST', '/images/generations', imageGenerations),
  route('POST', '/images/edits', imageEdits),
  route('POST', '/images/variations', imageVariations),
  route('POST', '/audio/speech', speech),
  route('POST', '/audio/transcriptions', transcriptions),
  route('POST', '/audio/translations', translations),
  route('POST', '/moderations', moderations),
  route('POST', '/rerank', rerank),
  route('POST', '/ocr', ocr),
  route('GET', '/realtime', realtime),
  route('POST', '/realtime/calls', realtimeCall),
  route('POST', '/realtime/calls/{id}/hangup', realtimeHangup, { object: 'call' }),
  ...['client_secrets', 'sessions', 'transcription_sessions', 'calls/{rest}'].map(path =>
    route('POST', `/realtime/${path}`, realtimeKeys),
  ),
  ...modelRows,
  ...openaiFileRows,
  ...openaiBatchRows,
  ...mistralBatchRows,
  ...xaiBatchRows,
  ...openaiVideoRows,
  ...xaiVideoRows,
  ...xaiVoiceRows,
  ...openaiConversationRows,
  ...openaiVectorStoreRows,
  ...unsupported.flatMap(unsupportedRows),
])

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

/** `{"error": {message, type, param, code}}`; the facts of a refusal, such as `required`, are further members. */
function openaiErrorBody(error: GatewayError): string {
  return JSON.stringify({ error: { ...shape(error, error.param), ...error.details } })
}

/** Official SDKs raise on any data with an `error`; the error events of the Responses API have a name and a type. */
function openaiErrorEvent(cause: GatewayError, operationName?: string): Buffer {
  const error = shape(cause, undefined)
  if (operationName?.startsWith('responses') !== true)
    return Buffer.from(`data: ${JSON.stringify({ error })}\n\n`)
  const data = { type: 'error', code: error.code, message: error.message, param: null, error }
  return Buffer.from(`event: error\ndata: ${JSON.stringify(data)}\n\n`)
}

/** `{object: "list", data: [...]}`, or one model. */
function openaiModelList(models: readonly string[], only: string | undefined): unknown {
  return only === undefined ? { object: 'list', data: models.map(model) } : model(only)
}

function model(id: string): unknown {
  return { id, object: 'model', created: 0, owned_by: 'gateway' }
}
