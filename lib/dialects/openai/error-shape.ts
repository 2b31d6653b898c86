import type { GatewayError } from '../../pipeline/errors.ts'

interface OpenaiError {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string
}

function shape({ row, message }: GatewayError, param: string | undefined): OpenaiError {
  const { type, code } = row.openai
  return { message, type, param: param ?? null, code }
}

/** `{"error": {message, type, param, code}}`; facts of a refusal, such as `required`, stand beside. */
export function openaiErrorBody(error: GatewayError): string {
  return JSON.stringify({ error: { ...shape(error, error.param), ...error.details } })
}

/** Official SDKs raise on any data with an `error`; the responses' own error events have a name and a type. */
export function openaiErrorEvent(cause: GatewayError, operationName?: string): Buffer {
  const error = shape(cause, undefined)
  if (operationName?.startsWith('responses') !== true) {
    return Buffer.from(`data: ${JSON.stringify({ error })}\n\n`)
  }
  const data = { type: 'error', code: error.code, message: error.message, param: null, error }
  return Buffer.from(`event: error\ndata: ${JSON.stringify(data)}\n\n`)
}
