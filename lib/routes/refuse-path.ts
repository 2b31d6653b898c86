import type { ProviderConfig } from '../config/config.ts'
import { isControlPlane } from '../config/provider-schema.ts'
import { anthropic } from '../dialects/anthropic/anthropic.ts'
import type { Dialect, DialectName, Operation } from '../dialects/dialect.ts'
import { openai } from '../dialects/openai/openai.ts'
import { GatewayError } from '../pipeline/errors.ts'

/** Prefixes of paths below a base URL that ends in `/v1beta`, without those that OpenAI also has. */
const belowV1beta = /^\/(?:models\/[^/]+:[a-zA-Z]+|cachedContents|fileSearchStores|interactions)(?:[/?]|$)/
/** The first segments of paths below a base URL that ends in `/v1`. */
const belowV1: ReadonlySet<string> = new Set(
  [...openai.routes, ...anthropic.routes]
    .filter(({ isAtOrigin }) => isAtOrigin !== true)
    .map(({ path }) => firstSegment(path)),
)

/** A client may send a path as long as a head may be: responses and the log show only this much of it. */
const charactersMax = 200

/** The part of a path that an error shows. */
export function shownPath(path: string): string {
  return path.length <= charactersMax ? path : `${path.slice(0, charactersMax)}...`
}

/** The error for a path outside every route. It tells when the base URL lacks its version, or has it twice. */
export function nothingAt(target: string): GatewayError {
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

/** Advice for a path with a second version in it: both the client's base URL and its SDK add one. */
export function twiceVersioned(belowVersion: string): string | undefined {
  const version = /^\/(v1|v1beta)\//.exec(belowVersion)?.[1]
  return version === undefined
    ? undefined
    : `The path has two versions: take /${version} away from the end of the base URL.`
}

/** @throws GatewayError route_not_found */
export function requireDialect(provider: ProviderConfig, name: DialectName): void {
  if (provider.dialects[name] !== undefined) return
  const spoken = Object.keys(provider.dialects).join(', ')
  throw new GatewayError(
    'route_not_found',
    `${provider.name} does not speak the ${name} format here, only: ${spoken}.`,
  )
}

/** The cost of an unknown operation is unknown, so only those that are listed are forwarded. */
export function forwarded(provider: ProviderConfig, dialect: Dialect, rest: string): Operation {
  const reason = refusalOfUnknown(provider, rest)
  return reason === undefined ? dialect.generic : { ...dialect.generic, unsupported: reason }
}

/**
 * Why a path that no dialect knows is not forwarded to a provider; undefined where the provider's `operations` list it.
 * The path is compared exactly as it is sent: another spelling of it is another path.
 */
function refusalOfUnknown(provider: ProviderConfig, pathAndQuery: string): string | undefined {
  const [path = ''] = pathAndQuery.split('?', 1)
  if (provider.operations.some(entry => covers(entry, path))) return undefined
  const shown = JSON.stringify(path.slice(0, 128))
  if (isControlPlane(path))
    return `${shown} belongs to the operator's account at ${provider.name}, so it is not forwarded.`
  const twice = twiceVersioned(path)
  if (twice !== undefined) return `${shown} is no operation that the gateway knows. ${twice}`
  return `${shown} is no operation that the gateway knows, so it is not paid with the operator's credential. The operator may list it in providers.${provider.name}.operations.`
}

function covers(entry: string, path: string): boolean {
  if (!entry.endsWith('*')) return entry === path
  // Paths matched by a pattern are not reviewed one by one: no escapes, and nothing of the operator's own account.
  return path.startsWith(entry.slice(0, -1)) && !/[%;]/.test(path) && !isControlPlane(path)
}

type Dialects = Readonly<Record<DialectName, Dialect>>

/**
 * Whether a path is another spelling of a known operation. Providers may accept `/%72esponses`, `/responses/` and
 * `/responses;a` for it, and the operation's rules would be bypassed. An operation that any of the provider's formats
 * has is known: formats often share an address.
 */
export function isKnownOtherwise(
  provider: ProviderConfig,
  dialects: Dialects,
  dialect: Dialect,
  method: string,
  pathAndQuery: string,
): boolean {
  const [path = '', query = ''] = pathAndQuery.split(/(?=\?)/, 2)
  const decoded = decode(path)
  if (decoded === undefined) return true
  const spoken = Object.values(dialects).filter(({ name }) => provider.dialects[name] !== undefined)
  return spellings(path, decoded).some(spelling =>
    spoken.some(other => {
      const own = pathOfDialect(provider, dialect.name, other.name, spelling)
      if (own === undefined || (own === path && other === dialect)) return false
      // A path that is known with another method only is known, too.
      return isKnown(other, method, own + query)
    }),
  )
}

/** The part after one format's base URL, of a path that is sent below another format's; undefined for none. */
export function pathOfDialect(
  { dialects }: ProviderConfig,
  from: DialectName,
  to: DialectName,
  path: string,
): string | undefined {
  const [base, other] = [dialects[from]?.baseUrl, dialects[to]?.baseUrl]
  if (base === undefined || other === undefined || base.origin !== other.origin) return undefined
  const [above, below] = [base, other].map(url => url.pathname.replace(/\/$/, '')) as [string, string]
  const whole = above + path
  return whole.startsWith(`${below}/`) ? whole.slice(below.length) : undefined
}

/** The path as servers may read it: decoded, without parameters and trailing characters, and without case. */
function spellings(path: string, decoded: string): readonly string[] {
  const plain = withoutEnd(decoded.replaceAll(/;[^/]*/g, ''))
  return [path, plain, plain.toLowerCase()]
}

/** Without trailing slashes and spaces. A regular expression would scan to the end again from each of them. */
function withoutEnd(path: string): string {
  let end = path.length
  while (end > 0 && /[/\s]/.test(path.charAt(end - 1))) end -= 1
  return path.slice(0, end)
}

/** Undefined where an escape is invalid. */
function decode(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

function isKnown(dialect: Dialect, method: string, pathAndQuery: string): boolean {
  try {
    dialect.match(method, pathAndQuery)
    return true
  } catch (error) {
    return !(error instanceof GatewayError) || error.code !== 'route_not_found'
  }
}
