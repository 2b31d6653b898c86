import { errorTable } from '../../errors.ts'
import type { ErrorCode, GatewayError, GatewayErrorOptions } from '../../errors.ts'

const errorInfoType = 'type.googleapis.com/google.rpc.ErrorInfo'
const badRequestType = 'type.googleapis.com/google.rpc.BadRequest'

/** `{"error": {code, message, status, details}}`, with our code as the reason. */
export function googleErrorBody(error: GatewayError): string {
  return body(error.code, error.message, error.param, error.details)
}

/** SDKs test every piece of a stream for an `error`. */
export function googleErrorEvent(code: ErrorCode, message: string): Buffer {
  return Buffer.from(`data: ${body(code, message)}\r\n\r\n`)
}

function body(
  code: ErrorCode,
  message: string,
  param?: string,
  details?: GatewayErrorOptions['details'],
): string {
  const { status, google } = errorTable[code]
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
