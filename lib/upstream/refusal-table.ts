/** What a provider's error answer says, as far as it is read: exact values, never words somewhere in it. */
export interface ErrorFields {
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
export function isAboutCredential(providerKind: string, fields: ErrorFields): boolean {
  return (rows.get(providerKind) ?? unknown).some(row => row(fields))
}

/** Whether an error is about the country that our request came from. */
export function isAboutCountry({ status, code, state, message }: ErrorFields): boolean {
  if (status === 403 && code === 'unsupported_country_region_territory') return true
  return (
    status === 400 && state === 'FAILED_PRECONDITION' && message.startsWith('User location is not supported')
  )
}
