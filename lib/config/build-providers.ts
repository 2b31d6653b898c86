import type { DialectName } from '../dialects/dialect.ts'
import { buildCredentials, dropMissingCredentials, laidOver } from './build-credentials.ts'
import { buildEgress } from './build-egress.ts'
import type { Credential, ProviderConfig } from './config.ts'
import { knownProviders, reservedProviderNames } from './known-providers.ts'
import type { KnownProvider } from './known-providers.ts'
import { isMapping } from './layers.ts'
import type { Problems } from './problems.ts'
import { isLoopback } from './scalars.ts'
import { providerSchema } from './schema.ts'
import type { ProviderInput } from './schema.ts'

/** What the providers' section may refer to, and what is learned of them. */
interface ProviderContext {
  readonly problems: Problems
  /** Gets the providers that are off, each with the variables it lacks. */
  readonly off: string[]
  readonly egressNames: readonly string[]
  /** Variables that credentials named and the environment lacks, by provider. */
  readonly missingVariables: ReadonlyMap<string, readonly string[]>
}

const providerName = /^[a-z0-9][a-z0-9._-]*$/
const defaultTimeouts = { connectMs: 5_000, firstByteMs: 600_000, silenceMs: 600_000 }
/** Statuses with which providers turn requests away before they have worked on them. */
const defaultFailover = { on: [429, 503, 529], attemptsMax: 4 }
const defaultLimits = { connectionsMax: 2048, waitingMax: 1024, waitMs: 10_000 }
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

function buildProvider(
  name: string,
  input: ProviderInput,
  written: unknown,
  context: ProviderContext,
): ProviderConfig {
  const { problems } = context
  const timeouts = laidOver(defaultTimeouts, input.timeouts)
  const credentials = buildCredentials(name, written, { input, timeouts, problems })
  if (input.like !== undefined && !knownProviders.has(input.like)) {
    problems.addUnknown(['providers', name, 'like'], 'provider', input.like, knownProviders.keys())
  }
  const base = knownProviders.get(name) ?? knownProviders.get(input.like ?? '')
  const dialects = buildDialects(name, input, base, problems)
  const isOff = decideOff(name, input, credentials, dialects, context)
  return {
    name,
    kind: input.like ?? name,
    // It plays at being a provider: nobody is bought from.
    isPublic: input.public || (input.like ?? name) === 'sandbox',
    credentials,
    isOff,
    dialects,
    egress: buildEgress(name, input, { isOff, dialects }, context),
    streamUsage: input.streamUsage ?? base?.streamUsage ?? 'as-sent',
    takesResponsesSocket: input.responsesWebSocket ?? base?.responsesWebSocket ?? false,
    // No provider says in its documents that it bills nothing of what a client leaves.
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
