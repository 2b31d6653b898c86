import { ShutDownError, GatewayError } from '../pipeline/errors.ts'

/** RFC 6455 section 7.4.1: 1008 is a breach of policy, 1013 means to try again later. */
const codes: Readonly<Record<string, number>> = {
  body_invalid: 1007,
  field_ambiguous: 1007,
  body_too_large: 1009,
  request_timeout: 1001,
  overloaded: 1013,
  rate_limited: 1013,
  internal: 1011,
  upstream_unreachable: 1014,
  upstream_failed: 1014,
  upstream_timeout: 1014,
  credentials_exhausted: 1014,
}

/** One message of a client is refused, with a message of the protocol; the session continues. */
export class MessageRefusedError extends Error {
  /** The message for the client. */
  readonly text: string

  constructor(text: string, cause: Error) {
    super(cause.message, { cause })
    this.name = 'MessageRefusedError'
    this.text = text
  }
}

/** The reason why a session ends, with its close code (RFC 6455 section 7.4). */
export class SessionError extends Error {
  readonly closeCode: number

  constructor(closeCode: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SessionError'
    this.closeCode = closeCode
  }
}

export function closeCodeOf(error: Error): number {
  if (error instanceof SessionError) return error.closeCode
  if (error instanceof ShutDownError) return 1001
  return error instanceof GatewayError ? (codes[error.code] ?? 1008) : 1011
}

const passing: ReadonlySet<string> = new Set(
  `body_invalid field_ambiguous model_not_allowed model_not_found object_not_found not_supported
    previous_response_not_found`.split(/\s+/),
)

/** Whether further messages would fail too. */
export function endsSession(error: Error): boolean {
  if (error instanceof MessageRefusedError) return false
  return !(error instanceof GatewayError) || !passing.has(error.code)
}

/** The reason in a close frame; internal errors are not disclosed. */
export function closeReasonOf(error: Error): string {
  const isToldApart = error instanceof GatewayError || error instanceof SessionError
  return isToldApart ? error.message : 'The gateway failed.'
}
