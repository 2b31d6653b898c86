import { buildPrice } from '../money/build-price.ts'
import { startOf } from '../money/price.ts'
import type { Price } from '../money/price.ts'
import { priceVersions } from '../money/pricing.ts'
import type { ListPricing, Pricing } from '../money/pricing.ts'
import { meters } from '../money/usage.ts'
import type { Path } from './config-error.ts'
import type { Problems } from './problems.ts'
import type { ModelInput, PriceInput } from './model-schema.ts'

interface ModelPrices {
  /** Oldest first; empty where there is none yet, for want of a rate. */
  readonly prices: readonly Price[]
  /** What a price in dollars is made of. */
  readonly list?: ListPricing
}

/**
 * The versions of a model's price, oldest first. The short form (`rubPerMillion` beside `provider`) is the
 * version without a date; entries of `prices` follow by their dates. Where any is in roubles, those are the
 * price; else the list price in dollars is, times the rate and the coefficient.
 */
export function buildPrices(
  model: string,
  input: ModelInput,
  pricing: Pricing,
  problems: Problems,
): ModelPrices {
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
    problems.add(['models', model], 'its list price times rate and coefficient has more digits than a price may')
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

/** Without a price of their own these cost what text does, so they may have one above a length only. */
const metersWithFallback: ReadonlySet<string> = new Set([
  'audioInput',
  'cachedAudioInput',
  'imageInput',
  'audioOutput',
  'imageOutput',
])

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
    if (thresholds.has(tier.inputTokens)) {
      problems.add([...tierPath, 'inputTokens'], `two rates above ${tier.inputTokens} tokens overlap`)
    }
    thresholds.add(tier.inputTokens)
    for (const meter of Object.keys(tier[perMillion] ?? {})) {
      const isPriced = Object.hasOwn(price[perMillion] ?? {}, meter)
      if (!isPriced && !metersWithFallback.has(meter)) {
        problems.add([...tierPath, perMillion, meter], `"${meter}" has no base price in ${perMillion}`)
      }
    }
  }
}
