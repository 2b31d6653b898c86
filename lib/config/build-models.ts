import { matchesPattern } from './matches-pattern.ts'
import { buildPrices } from './build-prices.ts'
import type { ModelConfig, ProviderConfig } from './config.ts'
import { isMapping } from './layers.ts'
import type { Problems } from './problems.ts'
import { modelSchema } from './model-schema.ts'
import type { ModelInput } from './model-schema.ts'
import { resolveLikes } from './resolve-likes.ts'
import { pricingOf } from '../money/pricing.ts'
import type { Pricing } from '../money/pricing.ts'

interface Models {
  readonly models: Map<string, ModelConfig>
  /** To the name of a model, or one that a pattern covers; never to another alias. */
  readonly aliases: Map<string, string>
  /** The most specific first: the one with the most letters that are not `*`. */
  readonly modelPatterns: ModelConfig[]
  /** Taken off sale by null. */
  readonly offSale: string[]
}

/** What the models of a config are built with. */
interface ModelContext {
  readonly providerNames: readonly string[]
  /** Those whose own settings have been read. */
  readonly providers: ReadonlyMap<string, Pick<ProviderConfig, 'pricing'>>
  /** How list prices become prices, where neither model nor provider says otherwise. */
  readonly pricing: Pricing
  readonly problems: Problems
}

/** Parses `models`; providers must be among the names given, aliases must lead to a model. */
export function buildModels(section: unknown, context: ModelContext): Models {
  const { providerNames, problems } = context
  const models = new Map<string, ModelConfig>()
  const aliases = new Map<string, string>()
  const modelPatterns: ModelConfig[] = []
  const offSale: string[] = []
  if (!isMapping(section)) return { models, aliases, modelPatterns, offSale }
  const inputs = new Map<string, ModelInput>()
  for (const [name, value] of Object.entries(section)) {
    if (value === null) {
      offSale.push(name)
      continue
    }
    if (name === '' || /\s/.test(name)) problems.add(['models', name], 'a model name has no spaces')
    checkProviders(name, value, providerNames, problems)
    const input = problems.parse(modelSchema, value, ['models', name])
    if (input === undefined) continue
    if (input.alias === undefined) inputs.set(name, input)
    else if (checkAlias(name, input, problems)) aliases.set(name, input.alias)
  }
  for (const [name, input] of resolveLikes(inputs, { section, offSale, problems })) {
    const model = buildModel(name, input, context)
    if (name.includes('*')) modelPatterns.push(model)
    else models.set(name, model)
  }
  modelPatterns.sort((left, right) => literalLength(right.name) - literalLength(left.name))
  const found = { models, aliases, modelPatterns, offSale }
  const declared = Object.keys(section).filter(name => !name.includes('*'))
  resolveAliases(found, declared, problems)
  return found
}

function checkAlias(name: string, input: ModelInput, problems: Problems): boolean {
  const others = Object.entries(input).filter(([key, value]) => key !== 'alias' && value !== undefined)
  if (others.length > 0) {
    problems.add(
      ['models', name],
      `an alias stands alone; take away what is set beside it, maybe in another file: ${others.map(([key]) => key).join(', ')}`,
    )
  }
  if (name.includes('*')) problems.add(['models', name], 'a pattern cannot be an alias')
  return others.length === 0 && !name.includes('*')
}

/** On the value as written, so that a slip elsewhere in the entry does not hide this one. */
function checkProviders(name: string, value: unknown, known: readonly string[], problems: Problems): void {
  if (!isMapping(value)) return
  const { provider } = value
  const named: readonly unknown[] = Array.isArray(provider) ? provider : [provider]
  for (const [index, one] of named.entries()) {
    if (typeof one !== 'string' || known.includes(one)) continue
    const path = ['models', name, 'provider', ...(Array.isArray(provider) ? [index] : [])]
    problems.addUnknown(path, 'provider', one, known)
  }
}

function buildModel(
  name: string,
  input: ModelInput,
  { providers: settings, pricing, problems }: ModelContext,
): ModelConfig {
  const { provider, upstreamModel, names, contextTokensMax, outputTokensMax, modalities, capabilities } = input
  const providers = typeof provider === 'string' ? [provider] : (provider ?? [])
  if (providers.length === 0)
    problems.add(['models', name, 'provider'], 'is missing: name a provider, or an alias')
  for (const [index, one] of (names ?? []).entries()) {
    if (name.includes('*') && !one.includes('*') && matchesPattern(name, one)) continue
    problems.add(['models', name, 'names', index], `must be a name that a pattern here covers`)
  }
  return {
    name,
    providers,
    ...(upstreamModel !== undefined && { upstreamModel }),
    ...(names !== undefined && { names }),
    ...(contextTokensMax !== undefined && { contextTokensMax }),
    ...(outputTokensMax !== undefined && { outputTokensMax }),
    ...(modalities !== undefined && { modalities }),
    ...(capabilities !== undefined && { capabilities }),
    ...buildPrices(name, input, pricingOf(pricing, input, settings.get(providers[0] ?? '')?.pricing), problems),
  }
}

function literalLength(pattern: string): number {
  return pattern.replaceAll('*', '').length
}

/** Follows aliases of aliases to a model, so that each leads there at once. */
function resolveAliases(
  { aliases, modelPatterns, offSale }: Models,
  declared: readonly string[],
  problems: Problems,
): void {
  const targets = new Map<string, string>()
  for (const [alias, first] of aliases) {
    const seen = new Set([alias])
    let target = first
    for (
      let next = aliases.get(target);
      next !== undefined && !seen.has(target);
      next = aliases.get(target)
    ) {
      seen.add(target)
      target = next
    }
    if (seen.has(target)) {
      problems.add(['models', alias, 'alias'], `leads back to itself: ${[...seen, target].join(' -> ')}`)
    } else if (offSale.includes(target)) {
      // What stands for a model that is not sold is not sold either.
      aliases.delete(alias)
    } else if (
      !declared.includes(target) &&
      !modelPatterns.some(({ name }) => matchesPattern(name, target))
    ) {
      problems.addUnknown(['models', alias, 'alias'], 'model', target, declared)
    } else {
      targets.set(alias, target)
    }
  }
  for (const [alias, target] of targets) aliases.set(alias, target)
}
