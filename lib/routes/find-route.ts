import type { ProviderConfig } from '../config/config.ts'
import { anthropic } from '../dialects/anthropic/anthropic.ts'
import type { Dialect, DialectName, Operation, RouteMatch } from '../dialects/dialect.ts'
import { google } from '../dialects/google/google.ts'
import { decodeSegment } from '../dialects/route-table.ts'
import { matchLive } from '../dialects/google/live-route.ts'
import { openai } from '../dialects/openai/openai.ts'
import { GatewayError } from '../pipeline/errors.ts'
import type { Route } from './route.ts'
import { headerValue } from '../http/headers.ts'
import { isKnownOtherwise, pathOfDialect } from './is-known-otherwise.ts'
import { matchOwn, ownPrefix, shownPath } from './match-own.ts'
import { cutQueryParameter } from '../http/query.ts'
import { refuseTricks } from './refuse-tricks.ts'
import { isControlPlane } from '../config/control-plane.ts'

/** Every dialect by its name. */
export const dialects: Readonly<Record<DialectName, Dialect>> = { openai, anthropic, google }

/** Where the bytes of Google's files travel: beside its API, with us at the same paths. */
const besideApi = /^(?:\/([a-z0-9][a-z0-9._-]*))?(\/(?:upload|download)\/v1(?:beta)?(?:\/.*)?)$/s

/** Live sessions, and the version that Google makes tokens for them in. */
const liveOrAlpha = /^(?:\/[^/]*)?\/ws\/|^\/v1alpha\//

/** How paths begin below a base URL that ends in `/v1beta`; what OpenAI has too is left out. */
const belowV1beta = /^\/(?:models\/[^/]+:[a-zA-Z]+|cachedContents|fileSearchStores|interactions)(?:[/?]|$)/
/** The first segments of paths below a base URL that ends in `/v1`. */
const belowV1: ReadonlySet<string> = new Set(
  [...openai.routes, ...anthropic.routes]
    .filter(({ isAtOrigin }) => isAtOrigin !== true)
    .map(({ path }) => firstSegment(path)),
)

/** Which dialect an error is told in when the path fits none. */
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
    // Newer versions of Google's SDKs ask for /v1 unless they are told otherwise.
    const own = dialect === google ? { ...match, isStableVersion: true } : match
    return { dialect, match: own, prefix: '/v1', providerName: undefined, queryKeys }
  }
  // Google's address for clients of OpenAI's format, which Google's documentation tells them to set.
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

/** `/upload/v1beta/...`, which stands at the provider's origin; a provider's name may stand before it. */
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

/** Gemini Live, with a provider before it or not. */
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

/** `/<provider>/v1/...`: that provider and no other; operations we do not know are forwarded too. */
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
  // Headers alone decide between formats that the provider speaks.
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

/** Of formats whose addresses lie below each other, such as Google's `/v1beta` and `/v1beta/openai`, the inner one. */
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

/** @throws GatewayError route_not_found */
function requireDialect(provider: ProviderConfig, name: DialectName): void {
  if (provider.dialects[name] !== undefined) return
  const spoken = Object.keys(provider.dialects).join(', ')
  throw new GatewayError(
    'route_not_found',
    `${provider.name} does not speak the ${name} format here, only: ${spoken}.`,
  )
}

/** Matches what stands below a prefix; errors name the path as the client wrote it. */
function matchBelow(prefix: string, dialect: Dialect, method: string, target: string): RouteMatch {
  const rest = target.slice(prefix.length)
  try {
    return dialect.match(method, rest)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const path = rest.split('?', 1)[0] ?? ''
    const { details } = error
    // As a function: in a text, `$&` would be put in again for every time that the path says it.
    const own = error.message.replace(path, () => shownPath(prefix + path))
    const twice = error.code === 'route_not_found' ? twiceVersioned(target) : undefined
    const message = twice === undefined ? own : `${own} ${twice}`
    // The refusal as the dialect told it is no cause: the log would say the whole path again.
    throw new GatewayError(error, message, {
      ...(details && { details }),
    })
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

/** Nobody knows what an unknown operation costs, so only those that are listed are forwarded. */
function forwarded(provider: ProviderConfig, dialect: Dialect, rest: string): Operation {
  const reason = refusalOfUnknown(provider, rest)
  return reason === undefined ? dialect.generic : { ...dialect.generic, unsupported: reason }
}

/** `/models/NAME:method`: the provider may go by it, whatever the body names. */
function modelInPath(rest: string): { readonly pathModel?: string } {
  const [, name] = /\/models\/([^/:?]+)/.exec(rest) ?? []
  return name === undefined ? {} : { pathModel: decodeSegment(name) }
}

function isAnthropicClient(rawHeaders: readonly string[]): boolean {
  return ['anthropic-version', 'provider-version', 'x-api-key'].some(
    name => headerValue(rawHeaders, name) !== undefined,
  )
}

/** The error of a path that no route begins like. A base URL that lacks its version, or has it twice, is named. */
function nothingAt(target: string): GatewayError {
  const path = shownPath(target.split('?', 1)[0] ?? '')
  return new GatewayError('route_not_found', `There is nothing at ${path}. ${whatToDo(target)}`)
}

function whatToDo(target: string): string {
  const missing = missingVersion(target)
  if (missing !== undefined) return `The base URL lacks ${missing}: end it in ${missing}.`
  return 'Use /v1 (OpenAI, Anthropic), /v1beta (Google) or /<provider>/v1.'
}

function missingVersion(target: string): string | undefined {
  if (belowV1beta.test(target)) return '/v1beta'
  return belowV1.has(firstSegment(target)) ? '/v1' : undefined
}

function firstSegment(path: string): string {
  return path.split(/[/?]/, 2)[1] ?? ''
}

/** The same of a path below `/v1` or `/v1beta` that says the version once more. */
function twiceVersioned(target: string): string | undefined {
  const version = /^\/(?:v1|v1beta)\/(v1|v1beta)\//.exec(target)?.[1]
  return version === undefined
    ? undefined
    : `The path has two versions: take /${version} away from the end of the base URL.`
}

/**
 * Why a path that no dialect knows is not forwarded to a provider; undefined where the provider's `operations` list it.
 * The path is compared as it is sent: another spelling of it is another path.
 */
function refusalOfUnknown(provider: ProviderConfig, pathAndQuery: string): string | undefined {
  const [path = ''] = pathAndQuery.split('?', 1)
  if (provider.operations.some(entry => covers(entry, path))) return undefined
  const shown = JSON.stringify(path.slice(0, 128))
  if (isControlPlane(path)) {
    return `${shown} belongs to the operator's account at ${provider.name}, so it is not forwarded.`
  }
  return `${shown} is no operation that the gateway knows, so it is not paid with the operator's credential. The operator may list it in providers.${provider.name}.operations.`
}

function covers(entry: string, path: string): boolean {
  if (!entry.endsWith('*')) return entry === path
  // What a pattern covers nobody has looked at: neither escapes nor what belongs to the operator's account.
  return path.startsWith(entry.slice(0, -1)) && !/[%;]/.test(path) && !isControlPlane(path)
}
