/** What a caller should do after an error: give up, wait for `retry-after`, or try again at once. */
type Retry = 'no' | 'after' | 'yes'

/** One row of the error table: a code's status and its name in every dialect. */
export interface ErrorRow {
  readonly status: number
  readonly openai: { readonly type: string; readonly code: string }
  readonly anthropic: string
  readonly google: string
  readonly retry: Retry
}

function row(
  status: number,
  openaiType: string,
  openaiCode: string,
  anthropic: string,
  google: string,
  retry: Retry = 'no',
): ErrorRow {
  return { status, openai: { type: openaiType, code: openaiCode }, anthropic, google, retry }
}

const invalid = 'invalid_request_error'

/**
 * Every error that the gateway itself responds with. Official SDKs choose their exception class by the status, and show
 * the type and message of the dialect.
 */
export const errorTable = {
  key_missing: row(401, invalid, 'invalid_api_key', 'authentication_error', 'UNAUTHENTICATED'),
  key_invalid: row(401, invalid, 'invalid_api_key', 'authentication_error', 'UNAUTHENTICATED'),
  key_revoked: row(401, invalid, 'invalid_api_key', 'authentication_error', 'UNAUTHENTICATED'),
  key_expired: row(401, invalid, 'invalid_api_key', 'authentication_error', 'UNAUTHENTICATED'),
  balance_insufficient: row(
    402,
    'insufficient_quota',
    'insufficient_quota',
    'billing_error',
    'FAILED_PRECONDITION',
  ),
  key_budget_exceeded: row(
    402,
    'insufficient_quota',
    'insufficient_quota',
    'billing_error',
    'FAILED_PRECONDITION',
  ),
  model_not_allowed: row(403, invalid, 'permission_denied', 'permission_error', 'PERMISSION_DENIED'),
  account_blocked: row(403, invalid, 'permission_denied', 'permission_error', 'PERMISSION_DENIED'),
  ip_not_allowed: row(403, invalid, 'permission_denied', 'permission_error', 'PERMISSION_DENIED'),
  storage_full: row(403, invalid, 'storage_full', 'permission_error', 'RESOURCE_EXHAUSTED'),
  model_not_found: row(404, invalid, 'model_not_found', 'not_found_error', 'NOT_FOUND'),
  route_not_found: row(404, invalid, 'route_not_found', 'not_found_error', 'NOT_FOUND'),
  object_not_found: row(404, invalid, 'object_not_found', 'not_found_error', 'NOT_FOUND'),
  previous_response_not_found: row(
    400,
    invalid,
    'previous_response_not_found',
    'not_found_error',
    'NOT_FOUND',
  ),
  method_not_allowed: row(405, invalid, 'method_not_allowed', invalid, 'INVALID_ARGUMENT'),
  request_timeout: row(408, invalid, 'request_timeout', invalid, 'DEADLINE_EXCEEDED'),
  request_invalid: row(400, invalid, 'request_invalid', invalid, 'INVALID_ARGUMENT'),
  body_invalid: row(400, invalid, 'body_invalid', invalid, 'INVALID_ARGUMENT'),
  field_ambiguous: row(400, invalid, 'field_ambiguous', invalid, 'INVALID_ARGUMENT'),
  media_type: row(400, invalid, 'media_type', invalid, 'INVALID_ARGUMENT'),
  media_invalid: row(400, invalid, 'media_invalid', invalid, 'INVALID_ARGUMENT'),
  body_too_large: row(413, invalid, 'body_too_large', 'request_too_large', 'INVALID_ARGUMENT'),
  media_too_large: row(413, invalid, 'media_too_large', 'request_too_large', 'INVALID_ARGUMENT'),
  media_too_many: row(413, invalid, 'media_too_many', 'request_too_large', 'INVALID_ARGUMENT'),
  media_too_long: row(413, invalid, 'media_too_long', 'request_too_large', 'INVALID_ARGUMENT'),
  upgrade_required: row(426, invalid, 'upgrade_required', invalid, 'INVALID_ARGUMENT'),
  upgrade_refused: row(426, invalid, 'upgrade_refused', invalid, 'UNIMPLEMENTED'),
  rate_limited: row(
    429,
    'rate_limit_error',
    'rate_limit_exceeded',
    'rate_limit_error',
    'RESOURCE_EXHAUSTED',
    'after',
  ),
  internal: row(500, 'server_error', 'internal', 'api_error', 'INTERNAL'),
  not_supported: row(501, invalid, 'not_supported', invalid, 'UNIMPLEMENTED'),
  upstream_unreachable: row(502, 'server_error', 'upstream_unreachable', 'api_error', 'UNAVAILABLE', 'yes'),
  upstream_failed: row(502, 'server_error', 'upstream_failed', 'api_error', 'UNAVAILABLE'),
  credentials_exhausted: row(502, 'server_error', 'credentials_exhausted', 'api_error', 'UNAVAILABLE'),
  overloaded: row(503, 'server_error', 'overloaded', 'overloaded_error', 'UNAVAILABLE', 'after'),
  upstream_timeout: row(504, 'server_error', 'upstream_timeout', 'timeout_error', 'DEADLINE_EXCEEDED'),
} satisfies Record<string, ErrorRow>

/** A code of the error table. */
export type ErrorCode = keyof typeof errorTable

/** For each status that a plugin's own error may have, the code whose names it uses. */
const namesByStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'request_invalid',
  401: 'key_invalid',
  402: 'balance_insufficient',
  403: 'model_not_allowed',
  404: 'object_not_found',
  413: 'body_too_large',
  429: 'rate_limited',
  500: 'internal',
  501: 'not_supported',
  502: 'upstream_failed',
  503: 'overloaded',
}

/** The statuses that a plugin's own errors may have. */
export const ownErrorStatuses: readonly number[] = Object.keys(namesByStatus).map(Number)

/** The row of a plugin's own error: its own code, with the names that its status has in each dialect. */
export function ownErrorRow(code: string, status: number, retry: Retry): ErrorRow {
  const like: ErrorRow = errorTable[namesByStatus[status] ?? 'internal']
  return { ...like, status, openai: { type: like.openai.type, code }, retry }
}

/** The optional parts of a refusal. */
export interface GatewayErrorOptions {
  readonly cause?: unknown
  /** The part of the request that was wrong, by its path in the body: `messages[3].content[1].source`. */
  readonly param?: string
  /** Values for programs, such as `required` and `available` of a 402. */
  readonly details?: Readonly<Record<string, string | number>>
  /** Whole seconds for the `retry-after` header. */
  readonly retryAfterSeconds?: number
}

/**
 * An error that the caller receives in its own dialect. The code is the contract, the message may change. External
 * plugins bring codes and rows of their own.
 */
export class GatewayError extends Error {
  readonly code: string
  readonly row: ErrorRow
  readonly param: string | undefined
  readonly details: Readonly<Record<string, string | number>> | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: ErrorCode | Pick<GatewayError, 'code' | 'row'>,
    message: string,
    options: GatewayErrorOptions = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'GatewayError'
    this.code = typeof code === 'string' ? code : code.code
    this.row = typeof code === 'string' ? errorTable[code] : code.row
    this.param = options.param
    this.details = options.details
    this.retryAfterSeconds = options.retryAfterSeconds
  }

  get status(): number {
    return this.row.status
  }
}

/** The gateway itself ended an exchange that its provider was working on; the client receives the reason. */
export class CutError extends GatewayError {
  constructor(message: string) {
    super('upstream_failed', message)
  }
}

export class ShutDownError extends CutError {
  constructor() {
    super('The gateway was shut down before the response was complete. The request may have been worked on.')
  }
}
