import type { GatewayError } from '../../pipeline/errors.ts'

/** `{"type": "error", "error": {type, message}, "request_id"}`; facts of a refusal stand in the error. */
export function anthropicErrorBody(error: GatewayError, exchangeId: string): string {
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

/** The event that ends a stream which was cut. */
export function anthropicErrorEvent({ row, message }: GatewayError, exchangeId: string): Buffer {
  const error = { type: row.anthropic, message }
  const data = JSON.stringify({ type: 'error', error, request_id: exchangeId })
  return Buffer.from(`event: error\ndata: ${data}\n\n`)
}
