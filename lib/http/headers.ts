/**
 * Fields that control framing, routing, caching, authentication or the interpretation of a message: a recipient has
 * acted on them before it sees a trailer, so they must not be trailers (RFC 9110 section 6.5.1).
 */
const notInTrailers =
  /^(?:age|authorization|cache-control|content-.*|date|expires|host|location|max-forwards|pragma|retry-after|vary|warning|www-authenticate)$/i
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** Whether a client reads trailers, which it declares by `TE: trailers` (RFC 9110 section 10.1.4). */
function acceptsTrailers(rawRequestHeaders: readonly string[]): boolean {
  return headerValues(rawRequestHeaders, 'te').some(value =>
    value.split(',').some(coding => /^\s*trailers\s*(?:;|$)/i.test(coding)),
  )
}

/**
 * The trailers of a response that are relayed to a client with these headers; flat, undefined when there are none. They
 * are never merged into headers.
 */
export function responseTrailers(
  raw: readonly Buffer[] | undefined,
  requestHeaders: readonly string[],
): string[] | undefined {
  if (raw === undefined || raw.length === 0 || !acceptsTrailers(requestHeaders)) return undefined
  const fields = responseHeaders(latin1Headers(raw))
  const passed: string[] = []
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const name = fields[index] as string
    const value = fields[index + 1] as string
    if (!notInTrailers.test(name) && fieldValue.test(value)) passed.push(name, value)
  }
  return passed.length > 0 ? passed : undefined
}

/** Headers as received: name, value, name, value, with case, order and duplicates kept. */
type RawHeaders = readonly string[]

/** RFC 9110 section 7.6.1, and those that old proxies send. */
const hopByHop = `connection http2-settings keep-alive proxy-authenticate proxy-authentication-info
    proxy-authorization proxy-connection te trailer transfer-encoding upgrade`.split(/\s+/)

const droppedFromRequests = new Set([
  ...hopByHop,
  // The gateway sets framing and the target itself.
  'content-length',
  'expect',
  'host',
  // All forms of the client's key.
  'api-key',
  'authorization',
  'cookie',
  'cookie2',
  'x-api-key',
  'x-goog-api-key',
  // These choose the account at the provider that pays, which is the operator's.
  'openai-organization',
  'openai-project',
  'x-dashscope-workspace',
  'x-goog-user-project',
  // Google would send a response in base64, in which no usage is found.
  'x-goog-encode-response-if-executable',
  // The client's address and location are not disclosed to the provider.
  'cdn-loop',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-ew-via',
  'cf-ipcountry',
  'cf-pseudo-ipv4',
  'cf-ray',
  'cf-visitor',
  'cf-worker',
  'fastly-client-ip',
  'forwarded',
  'true-client-ip',
  'via',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'x-original-forwarded-for',
  'x-original-host',
  // Some servers use these as the path instead of the one that was checked.
  'x-original-uri',
  'x-original-url',
  'x-rewrite-url',
  'x-real-ip',
])

const droppedFromResponses = new Set([
  ...hopByHop,
  'content-length',
  // It would make the client bypass the gateway.
  'alt-svc',
  // Browsers would apply these to the gateway's own site, and some to all of its domain.
  'accept-ch',
  'clear-site-data',
  'content-security-policy',
  'content-security-policy-report-only',
  'critical-ch',
  'cross-origin-embedder-policy',
  'cross-origin-opener-policy',
  'cross-origin-resource-policy',
  'document-policy',
  'expect-ct',
  'feature-policy',
  'integrity-policy',
  'integrity-policy-report-only',
  'nel',
  'origin-agent-cluster',
  'permissions-policy',
  'public-key-pins',
  'refresh',
  'referrer-policy',
  'report-to',
  'reporting-endpoints',
  'sec-session-registration',
  'secure-session-registration',
  'service-worker-allowed',
  'set-login',
  'sourcemap',
  'speculation-rules',
  'strict-transport-security',
  'use-as-dictionary',
  'x-permitted-cross-domain-policies',
  'x-sourcemap',
  // A cache in front would store one customer's response and serve it to others.
  'cache-tag',
  'cdn-cache-control',
  'cloudflare-cdn-cache-control',
  'edge-cache-tag',
  'edge-control',
  'surrogate-control',
  'surrogate-key',
  // A server in front would send a file of its own, or the response of another server, instead.
  'x-litespeed-location',
  'x-reproxy-url',
  'x-sendfile',
  'x-sendfile-type',
  'x-sendfile2',
  // The provider's edge could track our other clients with it.
  'set-cookie',
  'set-cookie2',
  // These identify our account at the provider.
  'anthropic-organization-id',
  'anthropic-workspace-id',
  'openai-organization',
  'openai-project',
  'x-gateway-request-id',
])

/** RFC 3986 section 3.2, without a user; empty where a target has none. */
const hostValue = /^[\w.~!$&'()*+,;=%:[\]-]*$/

/** Headers that decide how a request is read: servers differ on which one counts when there are two. */
const singleHeaders =
  `Host Content-Length Transfer-Encoding Content-Type Content-Encoding X-Goog-Upload-Command
    X-Goog-Upload-Offset X-Goog-Upload-Protocol`.split(/\s+/)
/** All lengths are different, so a name's length shows which one it may be. */
const singleByLength = new Map(singleHeaders.map(name => [name.length, name]))

/** Servers behind CGI treat `_` as `-`, so that such a name could be any of those that are dropped. */
const droppedRequestNames = /^x-forwarded-|_/
/** The operator decides which origins' pages may read a response. */
const droppedResponseNames = /^(?:access-control-|x-accel-|x-goog-upload-header-|x-lighttpd-)/

const ownKey = /\bgw-[\w-]{43}/

/** The headers for the provider: everything but hop-by-hop, credentials, framing and the client's location. */
export function requestHeaders(raw: RawHeaders): string[] {
  // Clients also send keys in headers of their own.
  return pass(raw, droppedFromRequests, droppedRequestNames, ownKey)
}

/** The headers for the client: everything but hop-by-hop, framing, cookies and the provider account's ids. */
export function responseHeaders(raw: RawHeaders): string[] {
  return pass(raw, droppedFromResponses, droppedResponseNames)
}

/** undici's raw headers, decoded as latin1, so that every byte of a value survives. */
export function latin1Headers(raw: readonly Buffer[]): string[] {
  return raw.map(part => part.toString('latin1'))
}

/** The first value of that name (lower-case). */
export function headerValue(raw: RawHeaders, name: string): string | undefined {
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (isNamed(raw[index] as string, name)) return raw[index + 1]
  }
  return undefined
}

/** Every value of a header, in order; the name is lower-case. */
export function headerValues(raw: RawHeaders, name: string): string[] {
  const values: string[] = []
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (isNamed(raw[index] as string, name)) values.push(raw[index + 1] as string)
  }
  return values
}

/** Why two parsers could disagree on where a request ends, its target or how it is read, for a 400; else undefined. */
export function checkFraming(raw: RawHeaders): string | undefined {
  const seen = new Set<string>()
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] as string
    const value = raw[index + 1] as string
    if (value.includes('\n') || value.includes('\r') || value.includes('\0'))
      return `The header ${JSON.stringify(name)} holds a line break or a NUL.`
    const single = singleByLength.get(name.length)
    if (single === undefined || !isNamed(name, single.toLowerCase())) continue
    if (seen.has(single)) return `The request has more than one ${single}.`
    seen.add(single)
    if (single === 'Host' && !hostValue.test(value)) return 'Host is not a host.'
    if (single === 'Content-Length' && !/^\d+$/.test(value)) return 'Content-Length is not a plain number.'
    if (single === 'Transfer-Encoding' && value.toLowerCase() !== 'chunked')
      return 'The only Transfer-Encoding accepted is chunked.'
  }
  if (seen.has('Content-Length') && seen.has('Transfer-Encoding'))
    return 'The request has both Content-Length and Transfer-Encoding.'
  const hopNames = connectionNames(raw)
  const kept = hopNames && singleHeaders.find(name => hopNames.includes(name.toLowerCase()))
  // The provider would not receive a header that decided how the body was read here.
  return kept === undefined ? undefined : `Connection names ${kept}, which is not for one hop alone.`
}

function pass(
  raw: RawHeaders,
  dropped: ReadonlySet<string>,
  droppedNames: RegExp,
  droppedValues?: RegExp,
): string[] {
  const named = connectionNames(raw)
  const passed: string[] = []
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] as string
    const lower = name.toLowerCase()
    const value = raw[index + 1] as string
    if (dropped.has(lower) || droppedNames.test(lower) || named?.includes(lower) === true) continue
    if (droppedValues?.test(value) === true) continue
    passed.push(name, value)
  }
  return passed
}

/** The headers that `Connection` declares to be for this hop only, lower-case. */
function connectionNames(raw: RawHeaders): string[] | undefined {
  let names: string[] | undefined
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (!isNamed(raw[index] as string, 'connection')) continue
    const value = (raw[index + 1] as string).toLowerCase()
    if (value === 'keep-alive' || value === 'close') continue
    names ??= []
    for (const name of value.split(',')) names.push(name.trim())
  }
  return names
}

function isNamed(name: string, lower: string): boolean {
  return name.length === lower.length && name.toLowerCase() === lower
}

/** Whether a text contains a key of ours. */
export function holdsOwnKey(text: string): boolean {
  return text.includes('gw-') && ownKey.test(text)
}
