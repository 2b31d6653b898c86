import { buildPrice } from '../money/build-price.ts'
import type { Price } from '../money/price.ts'
import { meters } from '../money/usage.ts'
import type { Path } from './config-error.ts'
import type { Problems } from './problems.ts'
import type { ModelInput, PriceInput } from './schema.ts'

/**
 * The versions of a model's price, oldest first. The short form (`rubPerMillion` beside `provider`) is the
 * version without a date; entries of `prices` follow by their dates.
 */
export function buildPrices(model: string, input: ModelInput, problems: Problems): Price[] {
  const path: Path = ['models', model]
  const countBefore = problems.count
  const versions: { input: PriceInput; path: Path }[] = []
  const { rubPerMillion, rubPerUnit, above, factors } = input
  if ([rubPerMillion, rubPerUnit, above, factors].some(part => part !== undefined)) {
    versions.push({ input: { rubPerMillion, rubPerUnit, above, factors }, path })
  }
  for (const [index, price] of (input.prices ?? []).entries()) {
    versions.push({ input: price, path: [...path, 'prices', index] })
  }
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
    for (const meter of Object.keys(tier.rubPerMillion)) {
      const isPriced = Object.hasOwn(price.rubPerMillion ?? {}, meter)
      if (!isPriced && !metersWithFallback.has(meter)) {
        problems.add([...tierPath, 'rubPerMillion', meter], `"${meter}" has no base price in rubPerMillion`)
      }
    }
  }
}
