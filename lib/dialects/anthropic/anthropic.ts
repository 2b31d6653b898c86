import type { Dialect } from '../dialect.ts'
import { freeOperation, fileOperation, keptFile } from '../operation-kinds.ts'
import { genericOperation } from '../generic.ts'
import { modelRows, route, RouteTable, type RouteRow } from '../route-table.ts'
import { anthropicList } from '../object-list.ts'
import { anthropicBatchRows, batchJobs } from './batches.ts'
import { countTokens, messages } from './messages.ts'
import type { GatewayError } from '../../pipeline/errors.ts'

/** `POST /files`: a form that contains the file. */
const fileUpload = fileOperation('file-upload', keptFile('id'), {
  body: 'streamed',
  carriesFile: 'form',
})
/** A file's metadata and its content. */
const storedFile = freeOperation('stored-file')
const deletedFile = freeOperation('deleted-file', { isDeletion: true })
const fileList = anthropicList('file-list', {
  kind: 'file',
  retrieval: storedFile,
  path: id => `/files/${encodeURIComponent(id)}`,
})

/** Files, below `/v1`. */
const anthropicFileRows: readonly RouteRow[] = [
  route('POST', '/files', fileUpload),
  route('GET', '/files', fileList),
  route('GET', '/files/{id}', storedFile, { object: 'file' }),
  route('DELETE', '/files/{id}', deletedFile, { object: 'file' }),
  route('GET', '/files/{id}/content', storedFile, { object: 'file' }),
]

const routes = new RouteTable([
  route('POST', '/messages', messages),
  route('POST', '/messages/count_tokens', countTokens),
  ...anthropicBatchRows,
  ...anthropicFileRows,
  ...modelRows,
  // Claude Code probes this path at the origin, not below the base URL, to see whether the server is reachable.
  route('HEAD GET', '/api/hello', freeOperation('hello'), { isAtOrigin: true }),
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

/** `{"type": "error", "error": {type, message}, "request_id"}`; the facts of a refusal are members of `error`. */
function anthropicErrorBody(error: GatewayError, exchangeId: string): string {
  return JSON.stringify({
    type: 'error',
    error: {
      type: error.row.anthropic,
      message: error.message,
      ...(error.param !== undefined && { param: error.param }),
      ...error.details,
    },
    request_id: exchangeId,
  })
}

/** The error event that ends a stream which broke off. */
function anthropicErrorEvent({ row, message }: GatewayError, exchangeId: string): Buffer {
  const error = { type: row.anthropic, message }
  const data = JSON.stringify({ type: 'error', error, request_id: exchangeId })
  return Buffer.from(`event: error\ndata: ${data}\n\n`)
}

/** One page with all models, or the one model requested. */
function anthropicModelList(models: readonly string[], only: string | undefined): unknown {
  if (only !== undefined) return model(only)
  return {
    data: models.map(model),
    has_more: false,
    first_id: models[0] ?? null,
    last_id: models.at(-1) ?? null,
  }
}

function model(id: string): unknown {
  return { type: 'model', id, display_name: id, created_at: '1970-01-01T00:00:00Z' }
}
