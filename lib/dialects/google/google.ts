import type { Dialect, Operation, RouteMatch } from '../dialect.ts'
import { genericOperation } from '../generic.ts'
import { batchJobs, asyncBatchEmbedContent, batchGenerateContent, googleBatchRows } from './batches.ts'
import { interactionJobs, interactions, storedInteractions } from './interactions.ts'
import { GatewayError } from '../../pipeline/errors.ts'
import { queryParameters } from '../../http/query.ts'
import { freeOperation } from '../operation-kinds.ts'
import { modelRows, pathOf, route, RouteTable, unsupportedRows, type RouteRow } from '../route-table.ts'
import { batchEmbedContents, embedContent } from './embed-content.ts'
import { googleCacheRows } from './cached-contents.ts'
import { googleFileRows } from './files.ts'
import { googleStoreRows } from './file-search-stores.ts'
import { countTokens, generateContent, streamGenerateContent } from './generate-content.ts'
import { predict, operationJobs, googleOperationRows, predictLongRunning } from './predict.ts'

const unsupported: readonly (readonly [string, string])[] = [
  ['operations', 'Lists of operations are not in this release; store the names of those that you start.'],
  ['tunedModels', 'Tuned models are not in this release.'],
  ['corpora', 'Corpora are not in this release.'],
]

/** The methods of a model, by what follows the colon. */
const modelMethods: readonly (readonly [string, Operation])[] = [
  ['generateContent', generateContent],
  ['streamGenerateContent', streamGenerateContent],
  ['countTokens', countTokens],
  ['embedContent', embedContent],
  ['batchEmbedContents', batchEmbedContents],
  ['predict', predict],
  ['predictLongRunning', predictLongRunning],
  ['batchGenerateContent', batchGenerateContent],
  ['asyncBatchEmbedContent', asyncBatchEmbedContent],
]

const authTokens = freeOperation('auth-tokens', {
  body: 'opaque',
  mintsKeys:
    'It creates a token that bypasses the gateway, which could not charge its usage. Use your own key.',
})

const table = new RouteTable([
  route('POST', '/auth_tokens', authTokens),
  route('POST', '/interactions', interactions),
  route('GET', '/interactions/{id}', storedInteractions.stored, { object: 'interaction' }),
  route('DELETE', '/interactions/{id}', storedInteractions.deleted, { object: 'interaction' }),
  route('POST', '/interactions/{id}/cancel', storedInteractions.cancelled, { object: 'interaction' }),
  ...googleOperationRows,
  ...modelRows,
  ...googleStoreRows,
  ...googleFileRows,
  ...googleCacheRows,
  ...googleBatchRows,
  ...unsupported.flatMap(unsupportedRows),
])

const modelTable = new RouteTable(
  modelMethods.map(([method, operation]) =>
    route('POST', `/models/{rest}:${method}`, operation, { isModel: true }),
  ),
)

/** All routes in Google's format, and those that are refused with a reason. */
const googleRoutes: readonly RouteRow[] = [...modelTable.rows, ...table.rows]

/** @throws GatewayError route_not_found, method_not_allowed, request_invalid */
function matchGoogle(method: string, pathAndQuery: string): RouteMatch {
  const path = pathOf(pathAndQuery)
  const isMethod = path.startsWith('/models/') && path.includes(':') && !path.includes('/operations/')
  if (!isMethod) {
    const match = table.match(method, pathAndQuery)
    if (match.operation.readUsage !== undefined) requireReadableResponse(pathAndQuery)
    return match
  }
  const match = modelTable.match(method, pathAndQuery)
  requireReadableResponse(pathAndQuery)
  return match
}

/**
 * Responses other than JSON, such as protocol buffers, would hide their usage.
 * @throws GatewayError request_invalid
 */
function requireReadableResponse(pathAndQuery: string): void {
  for (const { name, value } of queryParameters(pathAndQuery)) {
    if (name.toLowerCase() !== 'alt' || value === 'sse' || value === 'json') continue
    throw new GatewayError('request_invalid', `alt=${value} is not supported here; use sse or json.`, {
      param: 'alt',
    })
  }
}

const errorInfoType = 'type.googleapis.com/google.rpc.ErrorInfo'
const badRequestType = 'type.googleapis.com/google.rpc.BadRequest'

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

/** `{"error": {code, message, status, details}}`, with the gateway's code as the reason. */
function googleErrorBody(error: GatewayError): string {
  return body(error, error.param, error.details)
}

/** SDKs check every chunk of a stream for an `error`. */
function googleErrorEvent(error: GatewayError): Buffer {
  return Buffer.from(`data: ${body(error)}\r\n\r\n`)
}

function body(
  { code, message, row }: GatewayError,
  param?: string,
  details?: GatewayError['details'],
): string {
  const { status, google } = row
  // The values of ErrorInfo's metadata must be strings.
  const metadata = Object.fromEntries(
    Object.entries({ ...details, ...(param !== undefined && { param }) }).map(([key, value]) => [
      key,
      String(value),
    ]),
  )
  const all: unknown[] = [{ '@type': errorInfoType, reason: code, domain: 'gateway', metadata }]
  if (param !== undefined && status === 400)
    all.push({ '@type': badRequestType, fieldViolations: [{ field: param, description: message }] })
  return JSON.stringify({ error: { code: status, message, status: google, details: all } })
}

/** `{models: [...]}`, or one model; names have the prefix `models/`. */
function googleModelList(models: readonly string[], only: string | undefined): unknown {
  return only === undefined ? { models: models.map(model) } : model(only)
}

function model(id: string): unknown {
  return {
    name: `models/${id}`,
    displayName: id,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
  }
}
