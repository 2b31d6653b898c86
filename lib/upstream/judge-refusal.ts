import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { headerValue } from '../http/headers.ts'
import type { ResponseHead } from '../pipeline/plugin.ts'
import type { ErrorFields } from '../providers/credential-refusals.ts'
import { anyRefusals, knownProvider } from '../providers/known-providers.ts'
import { ClientLeftError, type BodyFailedError } from '../bodies/client-stream.ts'
import { providerLabel, providerLabelFirst, type ProviderConfig } from '../config/config.ts'
import { GatewayError } from '../pipeline/errors.ts'

const unreachedInTime = 'could not be reached in time; nothing was sent.'

/** What a provider did not do in time, by the code of the error. */
const timeouts: ReadonlyMap<string, string> = new Map([
  ['UND_ERR_HEADERS_TIMEOUT', 'did not begin its response in time.'],
  ['UND_ERR_BODY_TIMEOUT', 'stopped sending in the middle of its response.'],
  ['UND_ERR_CONNECT_TIMEOUT', unreachedInTime],
  ['ETIMEDOUT', unreachedInTime],
])

/**
 * Translates an upstream failure into the error for the caller. The error codes of undici and of the system are known
 * here and nowhere else.
 * @param wasStarted whether a byte of the request may have reached the provider
 */
export function upstreamError(error: Error, wasStarted: boolean, provider: ProviderConfig): GatewayError {
  const late = timeouts.get((error as NodeJS.ErrnoException).code ?? '')
  if (late !== undefined)
    return new GatewayError('upstream_timeout', `${providerLabelFirst(provider)} ${late}`, { cause: error })
  if (!wasStarted) {
    return new GatewayError(
      'upstream_unreachable',
      `${providerLabelFirst(provider)} could not be reached; nothing was sent.`,
      { cause: error },
    )
  }
  return new GatewayError(
    'upstream_failed',
    `The connection to ${providerLabel(provider)} failed after the request was sent. It may have been worked on, so it was not repeated.`,
    { cause: error },
  )
}

/**
 * Translates a failure of the request body into the error for the caller; undefined when the client has left, which the
 * exchange notices by itself.
 */
export function bodyError({ cause }: BodyFailedError): GatewayError | undefined {
  if (cause instanceof GatewayError) return cause
  if (cause instanceof ClientLeftError) return undefined
  return new GatewayError('internal', 'The gateway could not send the body of the request to its end.', {
    cause,
  })
}

/** Errors that the gateway causes itself and that say nothing about whether a provider can be reached. */
const ownCodes: ReadonlySet<string> = new Set(
  `UND_ERR_ABORTED UND_ERR_CLOSED UND_ERR_DESTROYED UND_ERR_INVALID_ARG UND_ERR_NOT_SUPPORTED
    UND_ERR_REQ_CONTENT_LENGTH_MISMATCH`.split(/\s+/),
)

/** Whether an error before anything was sent means that no connection was established. */
export function isConnectionFailure(error: Error): boolean {
  return !ownCodes.has((error as NodeJS.ErrnoException).code ?? '') && error.name !== 'AbortError'
}

/** What an error response means for the choice of the next stop. */
export type Verdict =
  | { readonly about: 'credential'; readonly code: string }
  | { readonly about: 'country'; readonly code: string }
  | { readonly about: 'rate'; readonly waitMs: number }
  | { readonly about: 'request' }

/** How long a credential pauses after a 429 that gives no wait. */
const waitMsDefault = 5_000
const waitMsMax = 600_000

const aboutRequest: Verdict = { about: 'request' }

/** Statuses whose body is read before it is relayed; other responses are relayed as they arrive. */
const judgedStatuses: ReadonlySet<number> = new Set([400, 401, 402, 403, 429])

export function isJudged(status: number): boolean {
  return judgedStatuses.has(status)
}

/** The most that an error's body may decompress to. */
const decodedBytesMax = 262_144

type Decode = (body: Buffer, options: { readonly maxOutputLength: number }) => Buffer
const decoders: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
  ['zstd', zstdDecompressSync],
])

/** Whether an error is about our key at the provider or its billing. */
function isAboutCredential(providerKind: string, fields: ErrorFields): boolean {
  const refusals = knownProvider(providerKind).credentialRefusals ?? anyRefusals
  return refusals.some(isRefusal => isRefusal(fields))
}

/** Whether an error is about the country from which our request came. */
function isAboutCountry({ status, code, type, state, message }: ErrorFields): boolean {
  if (status === 403 && code === 'unsupported_country_region_territory') return true
  // Anthropic's edge, before it checks any key; its API reports a key's missing permission as permission_error.
  if (status === 403 && type === 'forbidden' && message === 'Request not allowed') return true
  return (
    status === 400 && state === 'FAILED_PRECONDITION' && message.startsWith('User location is not supported')
  )
}

/** The fields of an error response; for one that is not JSON, its status only. */
function errorFields(status: number, whole: Fields): ErrorFields {
  const error = typeof whole['error'] === 'object' ? objectOf(whole['error']) : whole
  const details = Array.isArray(error['details']) ? (error['details'] as readonly unknown[]) : []
  return {
    status,
    code: textOf(error['code']),
    type: textOf(error['type']),
    state: textOf(error['status']),
    reasons: details.map(detail => textOf(objectOf(detail)['reason'])).filter(reason => reason !== ''),
    message: textOf(typeof whole['error'] === 'string' ? whole['error'] : error['message']),
  }
}

/** Google's wait in seconds: `retryDelay: "34.4s"` in a detail of the error. */
function retryDelayMs(whole: Fields): number | undefined {
  const { details } = objectOf(whole['error'])
  if (!Array.isArray(details)) return undefined
  for (const detail of details as readonly unknown[]) {
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(textOf(objectOf(detail)['retryDelay']))?.[1]
    if (seconds !== undefined) return Number(seconds) * 1000
  }
  return undefined
}

function parse(body: Buffer, encoding: string | undefined): unknown {
  try {
    const decoder = decoders.get(encoding?.trim().toLowerCase() ?? '')
    const bytes = decoder === undefined ? body : decoder(body, { maxOutputLength: decodedBytesMax })
    return JSON.parse(bytes.toString())
  } catch (error) {
    // An HTML page, a truncated body or an unknown encoding: only the status is used.
    if (error instanceof Error) return undefined
    throw error
  }
}

type Fields = Readonly<Record<string, unknown>>

function objectOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Judges an error response from its whole body. */
export function judgeRefusal(providerKind: string, { status, headers }: ResponseHead, body: Buffer): Verdict {
  if (!isJudged(status)) return aboutRequest
  const parsed = parse(body, headerValue(headers, 'content-encoding'))
  // Google's streams respond with an array that has one element.
  const whole = objectOf(Array.isArray(parsed) ? (parsed as readonly unknown[])[0] : parsed)
  const fields = errorFields(status, whole)
  const code = fields.code || fields.reasons[0] || fields.type || String(status)
  if (isAboutCountry(fields)) return { about: 'country', code: fields.code || fields.state || fields.type }
  if (isAboutCredential(providerKind, fields)) return { about: 'credential', code }
  if (status === 429) return { about: 'rate', waitMs: waitOf(headers, whole) }
  return aboutRequest
}

function waitOf(headers: readonly string[], whole: Fields): number {
  const ms = Number(headerValue(headers, 'retry-after-ms') ?? Number.NaN)
  const seconds = Number(headerValue(headers, 'retry-after') ?? Number.NaN)
  const wait = Number.isFinite(ms) ? ms : Number.isFinite(seconds) ? seconds * 1000 : retryDelayMs(whole)
  return Math.min(waitMsMax, Math.max(0, wait ?? waitMsDefault))
}
