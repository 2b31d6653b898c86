import type { Target } from '../models/choose-provider.ts'
import { headerValue, headerValues, requestHeaders } from '../http/headers.ts'
import { hash } from 'node:crypto'
import type { Route } from '../routes/route.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** The parts of a target that decide its headers. */
type HeaderTarget = Pick<
  Target,
  'provider' | 'credential' | 'dialectName' | 'isUsageInjected' | 'isBodyDecoded' | 'body'
>

/**
 * Headers in which providers identify a request, those first that their own bills and support use. Google has none: its
 * responses have `responseId`.
 */
const requestIdHeaders: readonly string[] = [
  // OpenRouter: `GET /generation?id=` returns the cost.
  'x-generation-id',
  'request-id',
  'x-request-id',
  'mistral-correlation-id',
  'x-ds-trace-id',
  'x-debug-trace-id',
  'inference-id',
  'cf-ray',
]

/** Longer ids are dropped: no provider sends them. */
const requestIdLengthMax = 128

const repeatHeaders: ReadonlySet<string> = new Set(['idempotency-key', 'x-idempotency-key'])

/**
 * The headers a provider receives: the client's without its credentials and the connection headers, plus the provider's
 * credential. Names, order and duplicates are kept.
 */
export function upstreamHeaders(
  rawHeaders: readonly string[],
  target: HeaderTarget,
  isResponseRewritten = false,
): string[] {
  let headers = requestHeaders(rawHeaders)
  if (target.isUsageInjected || isResponseRewritten) {
    // The response will be rewritten in places, which compression would hide.
    headers = withoutHeader(headers, 'accept-encoding')
    headers.push('accept-encoding', 'identity')
  } else headers = withReadableCodings(headers)
  if (target.isBodyDecoded) headers = withoutHeader(headers, 'content-encoding')
  if (target.dialectName === 'anthropic') headers = withAnthropicVersion(headers)
  // The length of a streamed body is declared here; undici measures a body in memory.
  const { body } = target
  if (body !== undefined && !Buffer.isBuffer(body) && body.length !== undefined)
    headers.push('content-length', String(body.length))
  // A server that needs no key receives none.
  if (target.credential.value !== '') headers.push(...credentialHeader(target))
  return headers
}

/** The codings from which usage can be read; `identity` is always acceptable. */
const readable = /^(?:gzip|x-gzip|br|zstd|deflate|identity)$/i
/** The same with an optional weight. */
const weighed = String.raw`\s*(?:gzip|x-gzip|br|zstd|deflate|identity)\s*(?:;[^,]*)?`
const allReadable = new RegExp(`^${weighed}(?:,${weighed})*$`, 'i')

/** Requests only codings that the gateway can decode: in any other the usage could not be read. */
function withReadableCodings(headers: string[]): string[] {
  const accepted = headerValues(headers, 'accept-encoding')
  const [only] = accepted
  if (only === undefined || (accepted.length === 1 && allReadable.test(only))) return headers
  const codings = accepted.flatMap(value => value.split(',')).map(coding => coding.trim())
  const kept = codings.filter(coding => readable.test(coding.split(';', 1)[0]?.trim() ?? ''))
  if (kept.length === codings.length) return headers
  return [...withoutHeader(headers, 'accept-encoding'), 'accept-encoding', kept.join(', ') || 'identity']
}

/** Some clients send `provider-version` instead of the messages format's version header. */
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

/** The id by which the provider knows a request, from the head of its response; flat headers. */
export function providerRequestId(headers: readonly string[]): string | undefined {
  for (const name of requestIdHeaders) {
    const id = headerValue(headers, name)
    if (id !== undefined && id !== '' && id.length <= requestIdLengthMax) return id
  }
  return undefined
}

/**
 * Request headers with the idempotency key made specific to the account. A provider returns the response of the first
 * request to any caller that repeats its key, and all accounts are one customer there.
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

/** Headers in which a provider gives the next address (wire.md 2.5, 3.4). */
const addressHeaders: ReadonlySet<string> = new Set([
  'location',
  'content-location',
  'x-goog-upload-url',
  'x-goog-upload-control-url',
])

/** The prefix of the client's request, `/v1` or `/<provider>/v1`, which its next request must have too. */
type AddressedRoute = Pick<Route, 'prefix' | 'providerName'>

/**
 * A response's headers with the provider's addresses replaced by ours, so that the client does not bypass the gateway
 * with a key that is invalid at the provider. An address on another host is dropped: the gateway cannot vouch for it.
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
 * Translates an address of the provider into ours; undefined for one on another host.
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
  // Google's uploads and downloads are next to the base path, at the same paths as in the gateway.
  const beside = (providerName === undefined ? '' : `/${providerName}`) + pathname
  const path = isBelow ? prefix + pathname.slice(base.length) : beside
  return publicUrl.origin + publicUrl.pathname.replace(/\/$/, '') + path + search + hash
}
