import type { ProviderConfig } from '../config/config.ts'
import { anthropic } from '../dialects/anthropic/anthropic.ts'
import type { Dialect, DialectName, RouteMatch } from '../dialects/dialect.ts'
import { google } from '../dialects/google/google.ts'
import { decodeSegment } from '../dialects/route-table.ts'
import { matchLive } from '../dialects/google/live-route.ts'
import { openai } from '../dialects/openai/openai.ts'
import { GatewayError } from '../pipeline/errors.ts'
import { matchOwn, ownPrefix, type Route } from './route.ts'
import { headerValue } from '../http/headers.ts'
import {
  isKnownOtherwise,
  pathOfDialect,
  forwarded,
  nothingAt,
  requireDialect,
  shownPath,
  twiceVersioned,
} from './refuse-path.ts'
import { cutQueryParameter, queryParameters } from '../http/query.ts'
import { namesObject } from '../dialects/form-facts.ts'

/** Every dialect by its name. */
export const dialects: Readonly<Record<DialectName, Dialect>> = { openai, anthropic, google }

/** The paths for the bytes of Google's files: next to its API, and at the same paths here. */
const besideApi = /^(?:\/([a-z0-9][a-z0-9._-]*))?(\/(?:upload|download)\/v1(?:beta)?(?:\/.*)?)$/s

/** Live sessions, and the API version in which Google creates tokens for them. */
const liveOrAlpha = /^(?:\/[^/]*)?\/ws\/|^\/v1alpha\//

/** The dialect for errors about a path that matches none. */
export function guessDialect(url: string, rawHeaders: readonly string[]): Dialect {
  const path = url.slice(0, 512)
  if (path.startsWith('/v1beta/openai/')) return openai
  if (/\/v1beta(?:\/|$)/.test(path) || liveOrAlpha.test(path) || besideApi.test(path)) return google
  if (/\/v1\/messages(?:[/?]|$)/.test(path) || path.startsWith('/api/hello')) return anthropic
  if (/^\/v1\/(?:models|files|cachedContents)(?:[/?]|$)/.test(path) && isGoogleClient(path, rawHeaders))
    return google
  return /\/v1\/(?:models|files)(?:[/?]|$)/.test(path) && isAnthropicClient(rawHeaders) ? anthropic : openai
}

function isGoogleClient(path: string, rawHeaders: readonly string[]): boolean {
  return (
    headerValue(rawHeaders, 'x-goog-api-key') !== undefined ||
    // OpenAI's fine-tuned models have colons in their names.
    /^\/v1\/models\/(?!ft:)[^/?]+:[a-zA-Z]/.test(path)
  )
}

/**
 * Matches a request's method, path and headers to a dialect and operation.
 * @throws GatewayError route_not_found, method_not_allowed, request_invalid
 */
export function findRoute(
  method: string,
  url: string,
  rawHeaders: readonly string[],
  providers: ReadonlyMap<string, ProviderConfig>,
): Route {
  const hasQuery = url.includes('?')
  refuseTricks(url, rawHeaders, hasQuery && guessDialect(url, rawHeaders) === google)
  const { values: queryKeys, rest: target } = hasQuery
    ? cutQueryParameter(url, 'key')
    : { values: [], rest: url }
  const lookup = method === 'HEAD' ? 'GET' : method
  if (target.startsWith(ownPrefix)) return matchOwn(lookup, target, queryKeys)
  if (target.startsWith('/v1/')) {
    const dialect = guessDialect(target, rawHeaders)
    const match = matchBelow('/v1', dialect, lookup, target)
    // Newer versions of Google's SDKs use /v1 by default.
    const own = dialect === google ? { ...match, isStableVersion: true } : match
    return { dialect, match: own, prefix: '/v1', providerName: undefined, queryKeys }
  }
  // Google's base URL for clients of OpenAI's format, as Google's documentation gives it.
  if (target.startsWith('/v1beta/openai/')) {
    const prefix = '/v1beta/openai'
    const match = matchBelow(prefix, openai, lookup, target)
    return { dialect: openai, match, prefix, providerName: undefined, queryKeys }
  }
  if (target.startsWith('/v1beta/')) {
    const match = matchBelow('/v1beta', google, lookup, target)
    return { dialect: google, match, prefix: '/v1beta', providerName: undefined, queryKeys }
  }
  if (/^(?:\/[a-z0-9][a-z0-9._-]*)?\/ws\//.test(target)) return liveRoute(target, providers, queryKeys)
  if (/^\/v1alpha\/auth_tokens(?:\?|$)/.test(target)) {
    const match = google.match(lookup, target.slice('/v1alpha'.length))
    const own = { ...match, upstreamPath: target, isAtOrigin: true }
    return { dialect: google, match: own, prefix: '/v1alpha', providerName: undefined, queryKeys }
  }
  const beside = besideApi.exec(target)
  if (beside !== null) return besideRoute(lookup, target, providers, beside[1], queryKeys)
  if (/^\/api\/hello(?:\?|$)/.test(target)) {
    const match = anthropic.match(method, target)
    return { dialect: anthropic, match, prefix: '/v1', providerName: undefined, queryKeys }
  }
  return providerRoute(lookup, target, rawHeaders, providers, queryKeys)
}

/** `/upload/v1beta/...`, which is at the provider's origin; a provider's name may precede it. */
function besideRoute(
  method: string,
  target: string,
  providers: ReadonlyMap<string, ProviderConfig>,
  providerName: string | undefined,
  queryKeys: readonly string[],
): Route {
  const before = providerName === undefined ? '' : `/${providerName}`
  if (providerName !== undefined) {
    const provider = providers.get(providerName)
    if (provider === undefined) throw nothingAt(target)
    requireDialect(provider, 'google')
  }
  const match = matchBelow(before, google, method, target)
  return { dialect: google, match, prefix: `${before}/v1beta`, providerName, queryKeys }
}

/** Gemini Live, with or without a provider in the path. */
function liveRoute(
  target: string,
  providers: ReadonlyMap<string, ProviderConfig>,
  queryKeys: readonly string[],
): Route {
  const prefix = target.slice(0, target.indexOf('/ws/'))
  const match = matchLive(target.slice(prefix.length))
  const provider = prefix === '' ? undefined : providers.get(prefix.slice(1))
  if (match === undefined || (prefix !== '' && provider?.dialects.google === undefined)) {
    throw new GatewayError(
      'route_not_found',
      `There is no WebSocket at ${shownPath(target.split('?', 1)[0] ?? '')}.`,
    )
  }
  return { dialect: google, match, prefix, providerName: provider?.name, queryKeys }
}

/** `/<provider>/v1/...`: that provider and no other; unknown operations are forwarded too. */
function providerRoute(
  method: string,
  target: string,
  rawHeaders: readonly string[],
  providers: ReadonlyMap<string, ProviderConfig>,
  queryKeys: readonly string[],
): Route {
  const found = /^\/([a-z0-9][a-z0-9._-]*)\/(v1|v1beta)(\/.*)$/s.exec(target)
  const provider = providers.get(String(found?.[1]))
  if (found === null || provider === undefined) throw nothingAt(target)
  const [, , version, rest = ''] = found
  const guessed = version === 'v1beta' ? google : guessDialect(`/v1${rest}`, rawHeaders)
  // Headers alone decide only between formats that the provider speaks.
  const isHint =
    version === 'v1' && !rest.startsWith('/messages') && provider.dialects[guessed.name] === undefined
  const likely = isHint ? openai : guessed
  requireDialect(provider, likely.name)
  const { dialect, below } = innermost(provider, likely, rest)
  const prefix = target.slice(0, target.length - below.length)
  const match = matchOrForward(prefix, provider, dialect, method, target)
  const isStableVersion = version === 'v1' && dialect === google
  return {
    dialect,
    match: isStableVersion ? { ...match, isStableVersion } : match,
    prefix,
    providerName: provider.name,
    queryKeys,
  }
}

/** Of nested formats, such as Google's `/v1beta` and `/v1beta/openai`, the inner one. */
function innermost(
  provider: ProviderConfig,
  likely: Dialect,
  rest: string,
): { readonly dialect: Dialect; readonly below: string } {
  for (const dialect of Object.values(dialects)) {
    const below = pathOfDialect(provider, likely.name, dialect.name, rest)
    if (below !== undefined && below.length < rest.length) return { dialect, below }
  }
  return { dialect: likely, below: rest }
}

/** Matches the part of a path after a prefix; errors show the path as the client wrote it. */
function matchBelow(prefix: string, dialect: Dialect, method: string, target: string): RouteMatch {
  const rest = target.slice(prefix.length)
  try {
    return dialect.match(method, rest)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const path = rest.split('?', 1)[0] ?? ''
    const { details } = error
    // A replacer function: in a replacement string, each `$&` in the path would insert the match again.
    const own = error.message.replace(path, () => shownPath(prefix + path))
    const twice = error.code === 'route_not_found' ? twiceVersioned(rest) : undefined
    const message = twice === undefined ? own : `${own} ${twice}`
    // The dialect's refusal is not set as the cause: the log would repeat the whole path.
    throw new GatewayError(error, message, { ...(details && { details }) })
  }
}

function matchOrForward(
  prefix: string,
  provider: ProviderConfig,
  dialect: Dialect,
  method: string,
  target: string,
): RouteMatch {
  try {
    return matchBelow(prefix, dialect, method, target)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'route_not_found') throw error
    const rest = target.slice(prefix.length)
    if (isKnownOtherwise(provider, dialects, dialect, method, rest)) throw error
    return { ...modelInPath(rest), operation: forwarded(provider, dialect, rest), upstreamPath: rest }
  }
}

/** `/models/NAME:method`: the provider may use this name, whatever the body says. */
function modelInPath(rest: string): { readonly pathModel?: string } {
  const [, name] = /\/models\/([^/:?]+)/.exec(rest) ?? []
  return name === undefined ? {} : { pathModel: decodeSegment(name) }
}

function isAnthropicClient(rawHeaders: readonly string[]): boolean {
  return ['anthropic-version', 'provider-version', 'x-api-key'].some(
    name => headerValue(rawHeaders, name) !== undefined,
  )
}

/**
 * Parameters with which Google's servers, in any format, hide or reshape the usage, or accept a key or a payer of the
 * client's own.
 */
const refusedParameters = new Set(['fields', 'callback', 'access_token', 'oauth_token', 'userproject'])

/**
 * Google's `$` parameters that change only the form of a response. Others override the method, a header such as
 * content-type, or the body: https://cloud.google.com/apis/docs/system-parameters
 */
const forwardedOfSystem = new Set(['$alt', '$prettyprint', '$.xgafv', '$unique'])

const refusedHeaders = ['x-goog-fieldmask', 'x-http-method-override', 'x-http-method', 'x-method-override']

/**
 * What is authorized must be exactly what is forwarded, so anything that a provider could read differently is refused.
 * @param isGoogle whether the request is in Google's format, which matters for a query alone
 * @throws GatewayError request_invalid
 */
function refuseTricks(url: string, rawHeaders: readonly string[], isGoogle: boolean): void {
  // Only printable ASCII in origin form; servers read the fragment and the backslash in different ways.
  if (!/^\/[!$-[\]-~]*$/.test(url)) {
    throw new GatewayError(
      'request_invalid',
      'The path has characters that a URL may not have, or is not a path.',
    )
  }
  const [path = ''] = url.split('?', 1)
  if (/%2f|%5c|%00|%25[0-9a-f]{2}|\/\/|\/(?:\.|%2e){1,2}(?:(?:;|%3b)[^/]*)?(?:\/|$)/i.test(path)) {
    throw new GatewayError(
      'request_invalid',
      'The path has dot segments, empty segments, encoded slashes or escapes of escapes.',
    )
  }
  if (url.includes('?')) {
    for (const { name, value } of queryParameters(url)) refuseParameter(name, value, isGoogle)
  }
  for (const name of refusedHeaders) {
    if (headerValue(rawHeaders, name) !== undefined) {
      throw new GatewayError(
        'request_invalid',
        `The header "${name}" is refused: it can hide usage or replace the key.`,
        { param: name },
      )
    }
  }
}

function refuseParameter(name: string, value: string, isGoogle: boolean): void {
  const plain = name.toLowerCase()
  // Only the ids of objects in paths and bodies are checked for their owner.
  if (namesObject(plain)) throw refusal(name, 'names an object, which queries may not')
  // Vertex' clients request JSON with numeric enums, in which the usage is unchanged.
  if (plain === '$alt' && !/^json(?:;enum-encoding=int)?$/.test(value)) {
    throw new GatewayError('request_invalid', 'Of "$alt" only json;enum-encoding=int is forwarded.', {
      param: '$alt',
    })
  }
  // Downloads in Google's own format are not JSON; its operations define which responses they can read.
  const hidesUsage = plain === 'alt' && !isGoogle && !['json', 'sse'].includes(value)
  const isOfSystem = plain.startsWith('$') && !forwardedOfSystem.has(plain)
  if (!hidesUsage && !isOfSystem && !refusedParameters.has(plain)) return
  throw refusal(name, 'can hide usage, or change what is asked for')
}

function refusal(name: string, reason: string): GatewayError {
  const shown = JSON.stringify(name.slice(0, 64))
  return new GatewayError(
    'request_invalid',
    `The query parameter ${shown} is refused: it ${reason}. Leave it out.`,
    { param: name.slice(0, 64) },
  )
}
