import type { Target } from '../models/choose-provider.ts'
import { headerValue, headerValues, requestHeaders } from '../http/headers.ts'
import { hash } from 'node:crypto'
import type { Route } from '../routes/route.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** What of a target decides on headers. */
type HeaderTarget = Pick<
  Target,
  'provider' | 'credential' | 'dialectName' | 'isUsageInjected' | 'isBodyDecoded' | 'body'
>

/**
 * Headers in which providers name a request, those first that their own bills and support ask for. Google has
 * none: its answers say `responseId`.
 */
const requestIdHeaders: readonly string[] = [
  // OpenRouter's: `GET /generation?id=` tells what it has cost.
  'x-generation-id',
  'request-id',
  'x-request-id',
  'mistral-correlation-id',
  'x-ds-trace-id',
  'x-debug-trace-id',
  'inference-id',
  'cf-ray',
]

/** Ids longer than any provider sends are not kept. */
const requestIdLengthMax = 128

const repeatHeaders: ReadonlySet<string> = new Set(['idempotency-key', 'x-idempotency-key'])

/**
 * The headers a provider gets: the client's less its credentials and what belongs to the connection, plus
 * the provider's credential. Names, order and duplicates stay as they came.
 */
export function upstreamHeaders(
  rawHeaders: readonly string[],
  target: HeaderTarget,
  isResponseRewritten = false,
): string[] {
  let headers = requestHeaders(rawHeaders)
  if (target.isUsageInjected || isResponseRewritten) {
    // The answer will be changed in places that compression would hide.
    headers = withoutHeader(headers, 'accept-encoding')
    headers.push('accept-encoding', 'identity')
  } else headers = withReadableCodings(headers)
  if (target.isBodyDecoded) headers = withoutHeader(headers, 'content-encoding')
  if (target.dialectName === 'anthropic') headers = withAnthropicVersion(headers)
  // A body that is sent piece by piece is announced here; undici measures one that is at hand.
  const { body } = target
  if (body !== undefined && !Buffer.isBuffer(body) && body.length !== undefined)
    headers.push('content-length', String(body.length))
  // A server that needs no key gets none.
  if (target.credential.value !== '') headers.push(...credentialHeader(target))
  return headers
}

/** The codings that usage can be read from; `identity` needs no word. */
const readable = /^(?:gzip|x-gzip|br|zstd|deflate|identity)$/i
/** The same with a weight behind it. */
const weighed = String.raw`\s*(?:gzip|x-gzip|br|zstd|deflate|identity)\s*(?:;[^,]*)?`
const allReadable = new RegExp(`^${weighed}(?:,${weighed})*$`, 'i')

/** A response in a coding that nobody here can undo would hide its usage, so only others are asked for. */
function withReadableCodings(headers: string[]): string[] {
  const asked = headerValues(headers, 'accept-encoding')
  const [only] = asked
  if (only === undefined || (asked.length === 1 && allReadable.test(only))) return headers
  const codings = asked.flatMap(value => value.split(',')).map(coding => coding.trim())
  const kept = codings.filter(coding => readable.test(coding.split(';', 1)[0]?.trim() ?? ''))
  if (kept.length === codings.length) return headers
  return [...withoutHeader(headers, 'accept-encoding'), 'accept-encoding', kept.join(', ') || 'identity']
}

/** `provider-version` is the service's own name for the version header of the messages format. */
function withAnthropicVersion(headers: string[]): string[] {
  const named = headerValue(headers, 'provider-version')
  const rest = named === undefined ? headers : withoutHeader(headers, 'provider-version')
  if (headerValue(rest, 'anthropic-version') === undefined)
    rest.push('anthropic-version', named ?? '2023-06-01')
  return rest
}

function credentialHeader({ dialectName, credential, provider }: HeaderTarget): [string, string] {
  if (dialectName === 'google') return ['x-goog-api-key', credential.value]
  const isBearer = dialectName !== 'anthropic' || knownProvider(provider.kind).isBearerAlways === true
  if (!isBearer) return ['x-api-key', credential.value]
  return ['authorization', `Bearer ${credential.value}`]
}

function withoutHeader(headers: readonly string[], name: string): string[] {
  const kept: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const key = headers[index] as string
    if (key.toLowerCase() !== name) kept.push(key, headers[index + 1] as string)
  }
  return kept
}

/** By which the provider knows a request, from the head of its response; flat headers. */
export function providerRequestId(headers: readonly string[]): string | undefined {
  for (const name of requestIdHeaders) {
    const id = headerValue(headers, name)
    if (id !== undefined && id !== '' && id.length <= requestIdLengthMax) return id
  }
  return undefined
}

/**
 * Request headers in which an idempotency key is the account's own. A provider gives the response to one request to
 * whoever repeats its key, and all accounts are one customer there.
 */
export function withOwnRepeats(headers: readonly string[], accountId: string | undefined): readonly string[] {
  if (accountId === undefined || !headers.some(isRepeatName)) return headers
  return headers.map((text, index) =>
    index % 2 === 1 && isRepeatName(headers[index - 1] as string, index - 1)
      ? hash('sha256', `${accountId} ${text}`, 'base64url')
      : text,
  )
}

function isRepeatName(text: string, index: number): boolean {
  return (
    index % 2 === 0 && (text.length === 15 || text.length === 17) && repeatHeaders.has(text.toLowerCase())
  )
}

/** Headers in which a provider says where to go next (wire.md 2.5, 3.4). */
const addressHeaders: ReadonlySet<string> = new Set([
  'location',
  'content-location',
  'x-goog-upload-url',
  'x-goog-upload-control-url',
])

/** What the client asked below: `/v1`, or `/<provider>/v1`, which its next request must begin with too. */
type AddressedRoute = Pick<Route, 'prefix' | 'providerName'>

/**
 * An answer's headers with the provider's addresses made into ours, so that the client does not go on past
 * the gateway with a key that is nobody's there. An address elsewhere is dropped: it is not ours to vouch for.
 * @returns the same array when there is no such header
 */
export function ownAddresses(
  headers: readonly string[],
  target: Target,
  publicUrl: URL,
  route: AddressedRoute,
): readonly string[] {
  if (!headers.some((name, index) => index % 2 === 0 && addressHeaders.has(name.toLowerCase())))
    return headers
  const kept: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string
    const value = headers[index + 1] as string
    if (!addressHeaders.has(name.toLowerCase())) kept.push(name, value)
    else {
      const own = ownAddress(value, target.baseUrl, publicUrl, route)
      if (own !== undefined) kept.push(name, own)
    }
  }
  return kept
}

/**
 * An address of the provider as ours; undefined for one elsewhere.
 * @param address absolute, or relative to the base URL
 */
export function ownAddress(
  address: string,
  baseUrl: URL,
  publicUrl: URL,
  { prefix, providerName }: AddressedRoute,
): string | undefined {
  if (!URL.canParse(address, baseUrl)) return undefined
  const { origin, pathname, search, hash } = new URL(address, baseUrl)
  if (origin !== baseUrl.origin) return undefined
  const base = baseUrl.pathname.replace(/\/$/, '')
  const isBelow = pathname === base || pathname.startsWith(`${base}/`)
  // Google's uploads and downloads stand beside the base, at the same paths as with us.
  const beside = (providerName === undefined ? '' : `/${providerName}`) + pathname
  const path = isBelow ? prefix + pathname.slice(base.length) : beside
  return publicUrl.origin + publicUrl.pathname.replace(/\/$/, '') + path + search + hash
}
