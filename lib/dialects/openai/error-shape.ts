import { errorTable } from '../../errors.ts'
import type { ErrorCode, GatewayError } from '../../errors.ts'

interface OpenaiError {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string
}

function shape(code: ErrorCode, message: string, param: string | undefined): OpenaiError {
  const { type, code: openaiCode } = errorTable[code].openai
  return { message, type, param: param ?? null, code: openaiCode }
}

/** `{"error": {message, type, param, code}}`; facts of a refusal, such as `required`, stand beside. */
export function openaiErrorBody(error: GatewayError): string {
  return JSON.stringify({ error: { ...shape(error.code, error.message, error.param), ...error.details } })
}

/** Official SDKs raise on any data with an `error`; the responses' own error events have a name and a type. */
export function openaiErrorEvent(code: ErrorCode, message: string, operationName?: string): Buffer {
  const error = shape(code, message, undefined)
  if (operationName?.startsWith('responses') !== true) {
    return Buffer.from(`data: ${JSON.stringify({ error })}\n\n`)
  }
  const data = { type: 'error', code: error.code, message, param: null, error }
  return Buffer.from(`event: error\ndata: ${JSON.stringify(data)}\n\n`)
}
