import { mostExpensiveVariant } from './consumed-cost.ts'
import { type Price, type Rates, ratesOf, unitRate } from './price.ts'
import { unitMeters, type Meter, type UsageLine } from './usage.ts'

/** What is read costs at least what plain text does: from a cache at most that, into one at least. */
const readAs: readonly (readonly [meter: Meter, other: Meter])[] = [
  ['cacheWrite1h', 'cacheWrite5m'],
  ['cacheWrite5m', 'input'],
  ['cachedInput', 'input'],
]

/** Usage as its price can charge it. */
interface PayableUsage {
  readonly usage: UsageLine
  /** Something may cost its provider more than is charged here: it has no price of its own. */
  readonly isShort: boolean
}

/**
 * Usage in meters that its price has: what is read by way of a cache is charged as input where the cache has no price, and
 * what comes in a size or quality without one as the most expensive that has. Else any such use would be free.
 */
export function payableUsage(usage: UsageLine, price: Price): PayableUsage {
  const rates = ratesOf(price)
  const meters = { ...usage.meters }
  let isShort = false
  for (const [meter, other] of readAs) {
    const units = meters[meter]
    if (units === undefined || !(units > 0) || isTokenPriced(rates, meter)) continue
    if (other === 'input' && !isTokenPriced(rates, other)) continue
    isShort ||= meter !== 'cachedInput'
    meters[other] = (meters[other] ?? 0) + units
    delete meters[meter]
  }
  const variant = payableVariant(usage, rates)
  if (variant === usage.variant) return { usage: { ...usage, meters }, isShort }
  return { usage: { ...usage, meters, ...(variant !== undefined && { variant }) }, isShort: true }
}

function isTokenPriced({ levels }: Rates, meter: Meter): boolean {
  return levels.some(({ rates }) => rates[meter] !== undefined)
}

function payableVariant({ meters, variant }: UsageLine, rates: Rates): string | undefined {
  for (const meter of unitMeters) {
    if (!((meters[meter] ?? 0) > 0) || rates.levels[0].rates[meter] !== undefined) continue
    if (unitRate(rates, meter, variant) !== undefined) continue
    const highest = mostExpensiveVariant(rates, meter)
    if (highest !== undefined) return highest
  }
  return variant
}
