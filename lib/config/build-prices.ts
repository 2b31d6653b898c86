import { buildPrice } from '../money/build-price.ts'
import { inRoubles } from '../money/in-roubles.ts'
import type { Price } from '../money/price.ts'
import { meters } from '../money/usage.ts'
import type { Path } from './config-error.ts'
import type { Problems } from './problems.ts'
import type { ModelInput, PriceInput } from './model-schema.ts'

/**
 * The versions of a model's price, oldest first. The short form (`rubPerMillion` beside `provider`) is the
 * version without a date; entries of `prices` follow by their dates. Where any is in roubles, those are the
 * price; else the list price in dollars is, times the rate.
 */
export function buildPrices(model: string, input: ModelInput, usdRub: string, problems: Problems): Price[] {
  const path: Path = ['models', model]
  const countBefore = problems.count
  const versions = pricesInOneCurrency(writtenPrices(input, path), usdRub)
  const starts = new Set<string>()
  for (const version of versions) {
    const from = version.input.from ?? ''
    if (starts.has(from)) {
      const which = from === '' ? 'without a date' : `from ${from}`
      problems.add(version.path, `there are two prices ${which}; each needs a date of its own`)
    }
    starts.add(from)
    checkPrice(version.input, version.path, problems)
  }
  if (problems.count > countBefore) return []
  return versions
    .map(version => buildPrice({ model, ...version.input }))
    .sort((left, right) => ((left.from ?? '') < (right.from ?? '') ? -1 : 1))
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

function pricesInOneCurrency(versions: readonly Version[], usdRub: string): readonly Version[] {
  const inDollars = versions.filter(({ input }) => isInDollars(input))
  if (inDollars.length === 0) return versions
  const others = versions.filter(version => !inDollars.includes(version))
  if (others.length > 0) return others
  return inDollars.map(({ input, path }) => ({ input: inRoubles(input, usdRub), path }))
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

function checkPrice(price: PriceInput, path: Path, problems: Problems): void {
  for (const unit of Object.keys(price.rubPerUnit ?? {})) {
    const [meter = '', ...variant] = unit.split('/')
    const unitPath = [...path, 'rubPerUnit', unit]
    if (!(meters as readonly string[]).includes(meter)) {
      problems.addUnknown(unitPath, 'meter', meter, meters)
    } else if (price.rubPerMillion !== undefined && Object.hasOwn(price.rubPerMillion, meter)) {
      problems.add(unitPath, `"${meter}" is priced twice: per unit here and in rubPerMillion`)
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
    for (const meter of Object.keys(tier.rubPerMillion ?? {})) {
      const isPriced = Object.hasOwn(price.rubPerMillion ?? {}, meter)
      if (!isPriced && !metersWithFallback.has(meter)) {
        problems.add([...tierPath, 'rubPerMillion', meter], `"${meter}" has no base price in rubPerMillion`)
      }
    }
  }
}
