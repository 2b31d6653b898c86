import { modelSchema, resolveLikes, type ModelInput, type PriceInput } from './model-schema.ts'
import { matchesPattern, type ModelConfig, type ProviderConfig } from './config.ts'
import type { Problems } from './problems.ts'
import { pricingOf, priceVersions, type Pricing, type ListPricing, buildPrice } from '../money/pricing.ts'
import { metersWithFallback, startOf, type Price } from '../money/price.ts'
import { meters } from '../money/usage.ts'
import { isMapping, type Path } from './config-error.ts'

interface Models {
  readonly models: Map<string, ModelConfig>
  /** Alias to the name of a model, or to a name that a pattern covers; never to another alias. */
  readonly aliases: Map<string, string>
  /** Most specific first: the pattern with the most characters that are not `*`. */
  readonly modelPatterns: ModelConfig[]
  /** Models that the config sets to null. */
  readonly offSale: string[]
}

/** Input for building the models of a config. */
interface ModelContext {
  readonly providerNames: readonly string[]
  /** The providers whose own settings are already parsed. */
  readonly providers: ReadonlyMap<string, Pick<ProviderConfig, 'pricing'>>
  /** How list prices become prices, where neither the model nor its provider overrides it. */
  readonly pricing: Pricing
  readonly problems: Problems
}

/** Parses `models`. Each model must name known providers, and each alias must resolve to a model. */
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

/** Checks the raw value, so that another error in the entry does not hide this one. */
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

interface ModelPrices {
  /** Oldest first; empty while the exchange rate is still unknown. */
  readonly prices: readonly Price[]
  /** The list price and the factors of a price in dollars. */
  readonly list?: ListPricing
}

/**
 * The versions of a model's price, oldest first. The short form (`rubPerMillion` beside `provider`) is the version
 * without a date; entries of `prices` follow by date. If any version is in roubles, the rouble versions are the
 * price; otherwise the price is the list price in dollars times the rate and the coefficient.
 */
function buildPrices(model: string, input: ModelInput, pricing: Pricing, problems: Problems): ModelPrices {
  const path: Path = ['models', model]
  const countBefore = problems.count
  const written = writtenPrices(input, path)
  const inDollars = written.filter(version => isInDollars(version.input))
  const others = written.filter(version => !inDollars.includes(version))
  const isListed = inDollars.length > 0 && others.length === 0
  const versions = isListed ? inDollars : others
  const starts = new Set<number>()
  for (const version of versions) {
    const { from } = version.input
    if (starts.has(startOf(from))) {
      const which = from === undefined ? 'without a date' : `from ${from}`
      problems.add(version.path, `there are two prices ${which}; each needs a date of its own`)
    }
    starts.add(startOf(from))
    checkPrice(version.input, version.path, isListed ? 'usd' : 'rub', problems)
  }
  if (problems.count > countBefore || versions.length === 0) return { prices: [] }
  const inputs = versions
    .map(version => version.input)
    .toSorted((left, right) => startOf(left.from) - startOf(right.from))
  if (isListed) return listedPrices(model, { versions: inputs, ...pricing }, problems)
  return { prices: inputs.map(version => buildPrice({ model, round: pricing.round, ...version })) }
}

function listedPrices(model: string, list: ListPricing, problems: Problems): ModelPrices {
  try {
    return { prices: priceVersions(model, list, []), list }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    problems.add(
      ['models', model],
      'its list price times rate and coefficient has more digits than a price may',
    )
    return { prices: [] }
  }
}

interface Version {
  readonly input: PriceInput
  readonly path: Path
}

function writtenPrices(input: ModelInput, path: Path): readonly Version[] {
  const { rubPerMillion, rubPerUnit, usdPerMillion, usdPerUnit, above, factors } = input
  const short = { rubPerMillion, rubPerUnit, usdPerMillion, usdPerUnit, above, factors }
  const dated = (input.prices ?? []).map((price, index) => ({
    input: price,
    path: [...path, 'prices', index],
  }))
  return Object.values(short).some(part => part !== undefined) ? [{ input: short, path }, ...dated] : dated
}

function isInDollars({ rubPerMillion, rubPerUnit, usdPerMillion, usdPerUnit }: PriceInput): boolean {
  const isInRoubles = rubPerMillion !== undefined || rubPerUnit !== undefined
  return !isInRoubles && (usdPerMillion !== undefined || usdPerUnit !== undefined)
}

function checkPrice(price: PriceInput, path: Path, currency: 'rub' | 'usd', problems: Problems): void {
  const perMillion = `${currency}PerMillion` as const
  const perUnit = `${currency}PerUnit` as const
  for (const unit of Object.keys(price[perUnit] ?? {})) {
    const [meter = '', ...variant] = unit.split('/')
    const unitPath = [...path, perUnit, unit]
    if (!(meters as readonly string[]).includes(meter)) {
      problems.addUnknown(unitPath, 'meter', meter, meters)
    } else if (Object.hasOwn(price[perMillion] ?? {}, meter)) {
      problems.add(unitPath, `"${meter}" is priced twice: per unit here and in ${perMillion}`)
    } else if (variant.some(part => part === '')) {
      problems.add(unitPath, 'a variant has no empty parts: images/1024x1024/high')
    }
  }
  const thresholds = new Set<number>()
  for (const [index, tier] of (price.above ?? []).entries()) {
    const tierPath = [...path, 'above', index]
    if (thresholds.has(tier.inputTokens))
      problems.add([...tierPath, 'inputTokens'], `two rates above ${tier.inputTokens} tokens overlap`)
    thresholds.add(tier.inputTokens)
    for (const meter of Object.keys(tier[perMillion] ?? {})) {
      const isPriced = Object.hasOwn(price[perMillion] ?? {}, meter)
      if (!isPriced && !metersWithFallback.has(meter))
        problems.add([...tierPath, perMillion, meter], `"${meter}" has no base price in ${perMillion}`)
    }
  }
}

function buildModel(
  name: string,
  input: ModelInput,
  { providers: settings, pricing, problems }: ModelContext,
): ModelConfig {
  const { provider, upstreamModel, names, contextTokensMax, outputTokensMax, modalities, capabilities } =
    input
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
    ...buildPrices(
      name,
      input,
      pricingOf(pricing, input, settings.get(providers[0] ?? '')?.pricing),
      problems,
    ),
  }
}

function literalLength(pattern: string): number {
  return pattern.replaceAll('*', '').length
}

/** Resolves chains of aliases, so that each alias points directly at a model. */
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
      // An alias of a model that is off sale is off sale too.
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
