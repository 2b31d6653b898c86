import type { Dialect } from '../dialect.ts'
import { genericOperation } from '../generic.ts'
import { batchJobs } from './batches.ts'
import { interactionJobs } from './interactions.ts'
import { operationJobs } from './long-running.ts'
import { googleRoutes, matchGoogle } from './routes.ts'
import type { GatewayError } from '../../pipeline/errors.ts'
import { requireModel } from '../require-model.ts'

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

/** `{"error": {code, message, status, details}}`, with our code as the reason. */
function googleErrorBody(error: GatewayError): string {
  return body(error, error.param, error.details)
}

/** SDKs test every piece of a stream for an `error`. */
function googleErrorEvent(error: GatewayError): Buffer {
  return Buffer.from(`data: ${body(error)}\r\n\r\n`)
}

function body(
  { code, message, row }: GatewayError,
  param?: string,
  details?: GatewayError['details'],
): string {
  const { status, google } = row
  // Values of ErrorInfo's metadata are strings.
  const metadata = Object.fromEntries(
    Object.entries({ ...details, ...(param !== undefined && { param }) }).map(([key, value]) => [
      key,
      String(value),
    ]),
  )
  const all: unknown[] = [{ '@type': errorInfoType, reason: code, domain: 'gateway', metadata }]
  if (param !== undefined && status === 400) {
    all.push({ '@type': badRequestType, fieldViolations: [{ field: param, description: message }] })
  }
  return JSON.stringify({ error: { code: status, message, status: google, details: all } })
}

/** `{models: [...]}`, or one model; names have the prefix `models/`. @throws GatewayError model_not_found */
function googleModelList(models: readonly string[], only: string | undefined): unknown {
  if (only === undefined) return { models: models.map(model) }
  requireModel(models, only)
  return model(only)
}

function model(id: string): unknown {
  return {
    name: `models/${id}`,
    displayName: id,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
  }
}
