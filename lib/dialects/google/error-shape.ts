import type { GatewayError } from '../../pipeline/errors.ts'

const errorInfoType = 'type.googleapis.com/google.rpc.ErrorInfo'
const badRequestType = 'type.googleapis.com/google.rpc.BadRequest'

/** `{"error": {code, message, status, details}}`, with our code as the reason. */
export function googleErrorBody(error: GatewayError): string {
  return body(error, error.param, error.details)
}

/** SDKs test every piece of a stream for an `error`. */
export function googleErrorEvent(error: GatewayError): Buffer {
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
