import type { DialectName } from '../dialects/dialect.ts'
import type { Credential, ProviderConfig, EgressChoice, ProviderTimeouts } from './config.ts'
import type { KnownProvider } from '../providers/known-provider.ts'
import { nearest } from '../platform/nearest.ts'
import { knownProviders } from '../providers/known-providers.ts'
import type { Problems } from './problems.ts'
import { isLoopback } from './scalars.ts'
import { providerSchema, type ProviderInput } from './provider-schema.ts'
import { isMapping } from './config-error.ts'
import { wholeVariable } from './environment.ts'
import { valueAt } from './layers.ts'

/** What the section `providers` may refer to, and what parsing it collects. */
interface ProviderContext {
  readonly problems: Problems
  /** Receives the providers that are off, each with its missing variables. */
  readonly off: string[]
  readonly egressNames: readonly string[]
  /** The section before variables were replaced. */
  readonly asWritten: unknown
  /** By provider, the environment variables that its credentials name and that are not set. */
  readonly missingVariables: ReadonlyMap<string, readonly string[]>
}

const providerName = /^[a-z0-9][a-z0-9._-]*$/
const defaultTimeouts = { connectMs: 5_000, firstByteMs: 600_000, silenceMs: 600_000 }
/** Statuses with which providers reject a request before any work on it. */
const defaultFailover = { on: [429, 503, 529], attemptsMax: 4 }
const defaultLimits = { connectionsMax: 2048, waitingMax: 1024, waitMs: 10_000 }
/** First path segments with another meaning; a provider cannot have one as its name. */
const reservedProviderNames: readonly string[] = 'v1 v1beta upload download ws gateway api'.split(' ')
const dialectNames: readonly DialectName[] = ['openai', 'anthropic', 'google']

/** Removes credentials whose variable is not set; that is not an error, the credential is just absent. */
function dropMissingCredentials(value: unknown): unknown {
  if (!isMapping(value) || !Array.isArray(value['credentials'])) return value
  return { ...value, credentials: value['credentials'].map(trimmed).filter(item => item !== undefined) }
}

/** Secrets read from files often end with a line feed, which is invalid in a header. */
function trimmed(credential: unknown): unknown {
  if (typeof credential === 'string') return credential.trim()
  if (!isMapping(credential) || !('value' in credential)) return credential
  const value = trimmed(credential['value'])
  return value === undefined ? undefined : { ...credential, value }
}

/**
 * The credentials of a provider. One without a name has that of its variable, so that its files, jobs, pauses and
 * alarms stay with it wherever it is in the list. A key that is written in the config itself is numbered by its place.
 * @param written the provider's entry, including the credentials whose variables are missing
 */
function buildCredentials(
  provider: string,
  written: unknown,
  { input, timeouts, asWritten, problems }: CredentialContext,
): Credential[] {
  if (!isMapping(written) || !Array.isArray(written['credentials'])) return []
  const parsed = [...(input.credentials ?? [])]
  const names = new Set<string>()
  return written['credentials'].flatMap((item: unknown, index): Credential[] => {
    const one = trimmed(item) === undefined ? undefined : parsed.shift()
    if (one === undefined) return []
    const path = ['providers', provider, 'credentials', index]
    const named = nameOf(provider, index, typeof one === 'string' ? undefined : one.name, asWritten)
    if (names.has(named.name)) {
      if (named.formerName === undefined) problems.add([...path, 'name'], 'is the name of another one')
      else problems.add(path, 'has the name or the variable of another one; write it once, or name it')
    }
    names.add(named.name)
    if (typeof one === 'string') return [{ ...named, value: one }]
    const { value, weight = 1 } = one
    const own = one.timeouts === undefined ? {} : { timeouts: laidOver(timeouts, one.timeouts) }
    return [{ ...named, value, weight, ...own }]
  })
}

function nameOf(
  provider: string,
  index: number,
  ownName: string | undefined,
  asWritten: unknown,
): Pick<Credential, 'name' | 'formerName'> {
  const place = `${provider}#${index + 1}`
  if (ownName !== undefined) return { name: `${provider}#${ownName}` }
  const item = valueAt(asWritten, [provider, 'credentials', index])
  const variable = wholeVariable(isMapping(item) ? item['value'] : item)
  return variable === undefined ? { name: place } : { name: `${provider}#${variable}`, formerName: place }
}

interface CredentialContext extends Pick<ProviderContext, 'asWritten' | 'problems'> {
  readonly input: ProviderInput
  /** The provider's timeouts, as defaults for its credentials. */
  readonly timeouts: ProviderTimeouts
}

/** The defaults, overridden by the values that are set. */
function laidOver<T extends object>(defaults: T, given: { [K in keyof T]?: T[K] | undefined } = {}): T {
  const values = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(values) }
}

/** Parses `providers`, with the built-in values of known names as defaults. */
export function buildProviders(section: unknown, context: ProviderContext): Map<string, ProviderConfig> {
  const providers = new Map<string, ProviderConfig>()
  if (!isMapping(section)) return providers
  for (const [name, value] of Object.entries(section)) {
    if (!checkName(name, context.problems)) continue
    const withoutMissing = dropMissingCredentials(value)
    const input = context.problems.parse(providerSchema, withoutMissing, ['providers', name])
    if (input === undefined) continue
    providers.set(name, buildProvider(name, input, value, context))
  }
  return providers
}

function checkName(name: string, problems: Problems): boolean {
  if (reservedProviderNames.includes(name)) {
    problems.add(['providers', name], `"${name}" is reserved: it is a path of the gateway itself`)
    return false
  }
  if (!providerName.test(name)) {
    problems.add(['providers', name], 'a provider name is a path segment: a-z, 0-9, dot, dash, underscore')
    return false
  }
  return true
}

interface EgressContext {
  readonly problems: Problems
  readonly egressNames: readonly string[]
}

const direct: readonly EgressChoice[] = [{ name: 'direct', weight: 1 }]

/**
 * A provider's egress routes. With proxies at the top level, each provider must name its own, so that none connects
 * directly by oversight. The sandbox never leaves the process.
 */
function buildEgress(
  name: string,
  input: ProviderInput,
  { isOff, dialects }: Pick<ProviderConfig, 'isOff' | 'dialects'>,
  { problems, egressNames }: EgressContext,
): readonly EgressChoice[] {
  if (input.egress === undefined) {
    const isInside = (input.like ?? name) === 'sandbox'
    if (egressNames.length > 0 && !isOff && !isInside) {
      problems.add(
        ['providers', name, 'egress'],
        'is missing: with a top-level egress every provider names its own, or egress: [direct]',
      )
    }
    return direct
  }
  const choices = input.egress.map((choice): EgressChoice =>
    typeof choice === 'string'
      ? { name: choice, weight: 1 }
      : { name: choice.name, weight: choice.weight ?? 1 },
  )
  const seen = new Set<string>()
  for (const [index, choice] of choices.entries()) {
    const path = ['providers', name, 'egress', index]
    if (choice.name !== 'direct' && !egressNames.includes(choice.name)) {
      problems.addUnknown(path, 'egress', choice.name, ['direct', ...egressNames])
    } else if (seen.has(choice.name)) {
      problems.add(path, `"${choice.name}" is there twice; give it a weight instead`)
    } else if (choice.name !== 'direct' && isPlain(dialects)) {
      problems.add(path, 'a base URL with http: is on this machine; it goes out by direct only')
    }
    seen.add(choice.name)
  }
  return choices
}

/** Whether a base URL is plain http: through a proxy it would expose the provider's key. */
function isPlain(dialects: ProviderConfig['dialects']): boolean {
  return Object.values(dialects).some(({ baseUrl }) => baseUrl.protocol === 'http:')
}

function buildProvider(
  name: string,
  input: ProviderInput,
  written: unknown,
  context: ProviderContext,
): ProviderConfig {
  const { problems, asWritten } = context
  const timeouts = laidOver(defaultTimeouts, input.timeouts)
  const credentials = buildCredentials(name, written, { input, timeouts, asWritten, problems })
  if (input.like !== undefined && !knownProviders.has(input.like))
    problems.addUnknown(['providers', name, 'like'], 'provider', input.like, knownProviders.keys())
  const base = knownProviders.get(name) ?? knownProviders.get(input.like ?? '')
  const dialects = buildDialects(name, input, base, problems)
  const isOff = decideOff(name, input, credentials, dialects, context)
  return {
    name,
    kind: input.like ?? name,
    // The sandbox imitates a provider: no company supplies it.
    isPublic: input.public || (input.like ?? name) === 'sandbox',
    credentials,
    isOff,
    dialects,
    egress: buildEgress(name, input, { isOff, dialects }, context),
    streamUsage: input.streamUsage ?? base?.streamUsage ?? 'as-sent',
    takesResponsesSocket: input.responsesWebSocket ?? base?.responsesWebSocket ?? false,
    // No provider documents that an aborted response is free of charge.
    onClientLeft: input.onClientLeft ?? 'drain',
    operations: input.operations ?? base?.operations ?? [],
    prompts: new Map(Object.entries(input.prompts ?? {})),
    timeouts,
    failover: laidOver(defaultFailover, input.failover),
    limits: laidOver(defaultLimits, input.limits),
    pricing: { usdRub: input.usdRub, coefficient: input.coefficient, round: input.round },
  }
}

function buildDialects(
  name: string,
  input: ProviderInput,
  base: KnownProvider | undefined,
  problems: Problems,
): ProviderConfig['dialects'] {
  const dialects: { [D in DialectName]?: { baseUrl: URL } } = {}
  // The addresses of `like` apply only when the entry has none of its own: a key must not reach an address that its
  // owner did not configure.
  const defaults = input.dialects === undefined || knownProviders.has(name) ? base?.dialects : undefined
  for (const dialect of dialectNames) {
    const own = input.dialects?.[dialect]
    const fallback = defaults?.[dialect]
    if (own === null) continue
    if (own !== undefined) dialects[dialect] = own
    else if (fallback !== undefined) dialects[dialect] = { baseUrl: new URL(fallback) }
  }
  // An unknown `like` is already reported; a missing dialect would only follow from it.
  const isLikeUnknown = input.like !== undefined && !knownProviders.has(input.like)
  if (Object.keys(dialects).length === 0 && !isLikeUnknown) {
    problems.add(
      ['providers', name],
      'has no dialect: write dialects: { openai: { baseUrl: https://... } }, or like: NAME for a known provider',
      nearest(name, knownProviders.keys()),
    )
  }
  return dialects
}

function decideOff(
  name: string,
  input: ProviderInput,
  credentials: readonly Credential[],
  dialects: ProviderConfig['dialects'],
  context: ProviderContext,
): boolean {
  if (name === 'sandbox' || input.like === 'sandbox' || credentials.length > 0) return false
  const missing = context.missingVariables.get(name) ?? []
  if (missing.length > 0) {
    context.off.push(`${name} (${missing.join(', ')})`)
    return true
  }
  const isLocal = Object.values(dialects).every(({ baseUrl }) => isLoopback(baseUrl))
  if (input.credentials === undefined && !isLocal) {
    context.problems.add(
      ['providers', name, 'credentials'],
      'is missing: name the variable of the key, or write credentials: [] for a server that needs none',
    )
  }
  return false
}
