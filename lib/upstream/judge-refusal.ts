import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { headerValue } from '../http/headers.ts'
import type { ResponseHead } from '../pipeline/plugin.ts'

/** What an error answer means to whoever chooses where the next request goes. */
export type Verdict =
  | { readonly about: 'credential'; readonly code: string }
  | { readonly about: 'country'; readonly code: string }
  | { readonly about: 'rate'; readonly waitMs: number }
  | { readonly about: 'request' }

/** How long a credential rests after a 429 that says nothing of it. */
const waitMsDefault = 5_000
const waitMsMax = 600_000

const aboutRequest: Verdict = { about: 'request' }

/** Statuses whose body is read before it is passed on; the others go through as they come. */
const judgedStatuses: ReadonlySet<number> = new Set([400, 401, 402, 403, 429])

export function isJudged(status: number): boolean {
  return judgedStatuses.has(status)
}

/** What an error's body may unfold to. */
const decodedBytesMax = 262_144

type Decode = (body: Buffer, options: { readonly maxOutputLength: number }) => Buffer
const decoders: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
  ['zstd', zstdDecompressSync],
])

/** What a provider's error answer says, as far as it is read: exact values, never words somewhere in it. */
interface ErrorFields {
  readonly status: number
  /** `error.code`, or `code` where the error is not nested. */
  readonly code: string
  readonly type: string
  /** Google's `error.status`. */
  readonly state: string
  /** The `reason` of each of Google's `error.details`. */
  readonly reasons: readonly string[]
  readonly message: string
}

type Row = (fields: ErrorFields) => boolean

/*
 * Only what is about our key and who pays for it, in the provider's own codes. A client chooses its bodies,
 * headers and paths, so whatever those can bring about is left out: rights of a key to one endpoint or model,
 * a body that is wrong, a limit that is reached.
 */
const openai: readonly Row[] = [
  ({ status, code, type }) => status === 401 && (code === 'invalid_api_key' || type === 'invalid_api_key'),
  ({ status, code }) => (status === 401 || status === 403) && code === 'account_deactivated',
  ({ status, code, type }) =>
    status === 429 &&
    (code === 'insufficient_quota' || type === 'insufficient_quota' || code === 'billing_not_active'),
  ({ status, code }) => status === 400 && code === 'billing_hard_limit_reached',
]

/** A 402 of any other company is about money too. */
const paymentRequired: Row = ({ status }) => status === 402

const anthropic: readonly Row[] = [
  // Other 401s come of headers that a client can send, such as those of OAuth.
  ({ status, type, message }) =>
    status === 401 &&
    type === 'authentication_error' &&
    /^(?:invalid (?:x-api-key|bearer token)|API key is invalid\.)$/i.test(message),
  ({ type }) => type === 'billing_error',
  ({ status, message }) => status === 400 && message.startsWith('Your credit balance is too low'),
  ({ status, message }) =>
    (status === 400 || status === 403) && message.startsWith('This organization has been disabled'),
]

const googleReasons = new Set([
  'API_KEY_INVALID',
  'API_KEY_EXPIRED',
  'CONSUMER_SUSPENDED',
  'BILLING_DISABLED',
])
const google: readonly Row[] = [
  ({ reasons }) => reasons.some(reason => googleReasons.has(reason)),
  ({ status, message }) => status === 403 && message.startsWith('Your API key was reported as leaked'),
]

const xai: readonly Row[] = [
  ({ status, message }) => status === 400 && message.startsWith('Incorrect API key provided'),
  ...openai,
  paymentRequired,
]

const openrouter: readonly Row[] = [
  ({ status, message }) =>
    status === 401 &&
    /^(?:No auth credentials found|Missing Authentication header|User not found|Invalid API key)/i.test(
      message,
    ),
  // It also says 402 to a request whose own max_tokens cost more than is left.
  ({ status, message }) => status === 402 && !/can only afford|fewer max_tokens/.test(message),
]

/** Companies whose 401 says nothing in a code; what a client sends cannot bring it about. */
const byStatus: readonly Row[] = [({ status }) => status === 401, ...openai, paymentRequired]

const rows: ReadonlyMap<string, readonly Row[]> = new Map([
  ['openai', openai],
  ['anthropic', anthropic],
  ['google', google],
  ['xai', xai],
  ['openrouter', openrouter],
  ...['deepseek', 'mistral', 'groq', 'perplexity', 'together', 'cerebras', 'moonshot', 'qwen', 'zai'].map(
    name => [name, byStatus] as const,
  ),
  ['fireworks', byStatus],
  ['cohere', byStatus],
])

/** For providers nobody has looked at: the codes of all who are known. */
const unknown: readonly Row[] = [...openai, ...anthropic, ...google, paymentRequired]

/** Whether an error is about our key at the provider or who pays for it. */
function isAboutCredential(providerKind: string, fields: ErrorFields): boolean {
  return (rows.get(providerKind) ?? unknown).some(row => row(fields))
}

/** Whether an error is about the country that our request came from. */
function isAboutCountry({ status, code, state, message }: ErrorFields): boolean {
  if (status === 403 && code === 'unsupported_country_region_territory') return true
  return (
    status === 400 && state === 'FAILED_PRECONDITION' && message.startsWith('User location is not supported')
  )
}

/** What an error answer says; of one that is no JSON, its status only. */
function errorFields(status: number, headers: readonly string[], body: Buffer): ErrorFields {
  const parsed = parse(body, headerValue(headers, 'content-encoding'))
  // Google's streams answer with an array of one.
  const whole = objectOf(Array.isArray(parsed) ? (parsed as readonly unknown[])[0] : parsed)
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
function retryDelayMs(headers: readonly string[], body: Buffer): number | undefined {
  const parsed = parse(body, headerValue(headers, 'content-encoding'))
  const whole = objectOf(Array.isArray(parsed) ? (parsed as readonly unknown[])[0] : parsed)
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
    // A page of HTML, a cut body, an encoding that is not known: the status has to do.
    if (error instanceof Error) return undefined
    throw error
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Reads an error answer with its whole body. */
export function judgeRefusal(providerKind: string, { status, headers }: ResponseHead, body: Buffer): Verdict {
  if (!isJudged(status)) return aboutRequest
  const fields = errorFields(status, headers, body)
  const code = fields.code || fields.reasons[0] || fields.type || String(status)
  if (isAboutCountry(fields)) return { about: 'country', code: fields.code || fields.state }
  if (isAboutCredential(providerKind, fields)) return { about: 'credential', code }
  if (status === 429) return { about: 'rate', waitMs: waitOf(headers, body) }
  return aboutRequest
}

function waitOf(headers: readonly string[], body: Buffer): number {
  const ms = Number(headerValue(headers, 'retry-after-ms') ?? Number.NaN)
  const seconds = Number(headerValue(headers, 'retry-after') ?? Number.NaN)
  const wait = Number.isFinite(ms)
    ? ms
    : Number.isFinite(seconds)
      ? seconds * 1000
      : retryDelayMs(headers, body)
  return Math.min(waitMsMax, Math.max(0, wait ?? waitMsDefault))
}
