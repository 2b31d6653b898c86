import type { DialectName } from '../dialects/dialect.ts'
import type { Credential, ProviderConfig } from './config.ts'
import { knownProviders, reservedProviderNames } from './known-providers.ts'
import type { KnownProvider } from './known-providers.ts'
import { isMapping } from './layers.ts'
import type { Problems } from './problems.ts'
import { isLoopback } from './scalars.ts'
import { providerSchema } from './schema.ts'
import type { ProviderInput } from './schema.ts'

/** What the providers' section may refer to, and what is learned of them. */
export interface ProviderContext {
  readonly problems: Problems
  /** Gets the providers that are off, each with the variables it lacks. */
  readonly off: string[]
  readonly egressNames: readonly string[]
  /** Variables that credentials named and the environment lacks, by provider. */
  readonly missingVariables: ReadonlyMap<string, readonly string[]>
}

const providerName = /^[a-z0-9][a-z0-9._-]*$/
const defaultTimeouts = { connectMs: 5_000, firstByteMs: 600_000, silenceMs: 600_000 }
const dialectNames: readonly DialectName[] = ['openai', 'anthropic', 'google']

/** Parses `providers` and lays its values over the built-in defaults of known names. */
export function buildProviders(section: unknown, context: ProviderContext): Map<string, ProviderConfig> {
  const providers = new Map<string, ProviderConfig>()
  if (!isMapping(section)) return providers
  for (const [name, value] of Object.entries(section)) {
    if (!checkName(name, context.problems)) continue
    const withoutMissing = dropMissingCredentials(value)
    const input = context.problems.parse(providerSchema, withoutMissing, ['providers', name])
    if (input === undefined) continue
    providers.set(name, buildProvider(name, input, credentialsOf(name, value), context))
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

/** A credential whose variable is missing has become undefined; it is no error, only not there. */
function dropMissingCredentials(value: unknown): unknown {
  if (!isMapping(value) || !Array.isArray(value['credentials'])) return value
  return { ...value, credentials: value['credentials'].filter(item => item !== undefined).map(trimmed) }
}

/** Secrets read from files often end with a line feed, which no header may hold. */
function trimmed(credential: unknown): unknown {
  return typeof credential === 'string' ? credential.trim() : credential
}

/** Numbered as written, so that a name stays when another credential's variable goes missing. */
function credentialsOf(provider: string, value: unknown): Credential[] {
  if (!isMapping(value) || !Array.isArray(value['credentials'])) return []
  return value['credentials'].flatMap((credential: unknown, index) =>
    typeof credential === 'string' ? [{ name: `${provider}#${index + 1}`, value: credential.trim() }] : [],
  )
}

function buildProvider(
  name: string,
  input: ProviderInput,
  credentials: Credential[],
  context: ProviderContext,
): ProviderConfig {
  const { problems } = context
  if (input.like !== undefined && !knownProviders.has(input.like)) {
    problems.addUnknown(['providers', name, 'like'], 'provider', input.like, knownProviders.keys())
  }
  const base = knownProviders.get(name) ?? knownProviders.get(input.like ?? '')
  const dialects = buildDialects(name, input, base, problems)
  const isOff = decideOff(name, input, credentials, dialects, context)
  return {
    name,
    kind: input.like ?? name,
    credentials,
    isOff,
    dialects,
    egress: buildEgress(name, input, isOff, context),
    streamUsage: input.streamUsage ?? base?.streamUsage ?? 'as-sent',
    onClientLeft: input.onClientLeft ?? base?.onClientLeft ?? 'abort',
    timeouts: buildTimeouts(input),
  }
}

function buildDialects(
  name: string,
  input: ProviderInput,
  base: KnownProvider | undefined,
  problems: Problems,
): ProviderConfig['dialects'] {
  const dialects: { [D in DialectName]?: { baseUrl: URL } } = {}
  // Another company's addresses are taken over from `like` only when the entry names none itself, so that
  // a key cannot reach an address its owner did not write down.
  const defaults = input.dialects === undefined || knownProviders.has(name) ? base?.dialects : undefined
  for (const dialect of dialectNames) {
    const own = input.dialects?.[dialect]
    const fallback = defaults?.[dialect]
    if (own === null) continue
    if (own !== undefined) dialects[dialect] = own
    else if (fallback !== undefined) dialects[dialect] = { baseUrl: new URL(fallback) }
  }
  if (Object.keys(dialects).length === 0) {
    problems.add(
      ['providers', name],
      'has no dialect: write dialects: { openai: { baseUrl: https://... } }, or like: NAME for a known provider',
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

function buildEgress(
  name: string,
  input: ProviderInput,
  isOff: boolean,
  context: ProviderContext,
): readonly string[] {
  const { egressNames, problems } = context
  if (input.egress === undefined) {
    if (egressNames.length > 0 && !isOff) {
      problems.add(
        ['providers', name, 'egress'],
        'is missing: with a top-level egress every provider names its own, or egress: [direct]',
      )
    }
    return ['direct']
  }
  for (const [index, egress] of input.egress.entries()) {
    if (egress !== 'direct' && !egressNames.includes(egress)) {
      problems.addUnknown(['providers', name, 'egress', index], 'egress', egress, ['direct', ...egressNames])
    }
  }
  return input.egress
}

function buildTimeouts(input: ProviderInput): ProviderConfig['timeouts'] {
  return {
    connectMs: input.timeouts?.connectMs ?? defaultTimeouts.connectMs,
    firstByteMs: input.timeouts?.firstByteMs ?? defaultTimeouts.firstByteMs,
    silenceMs: input.timeouts?.silenceMs ?? defaultTimeouts.silenceMs,
  }
}
