import { factorName, mostExpensiveVariant } from '../money/consumed-cost.ts'
import { isPricedBySecond, type Price, ratesOf, type Rates, unitRate } from '../money/price.ts'
import { type Meter, type UsageLine, unitMeters } from '../money/usage.ts'

/** What is read costs at least what plain text does: from a cache at most that, into one at least. */
const readAs: readonly (readonly [meter: Meter, others: readonly Meter[]])[] = [
  ['cacheWrite1h', ['cacheWrite5m', 'input']],
  ['cacheWrite5m', ['input']],
  ['cachedInput', ['input']],
]

interface PayableUsage {
  readonly usage: UsageLine
  /** Something may cost its provider more than is charged here: it has no price of its own. */
  readonly isShort: boolean
}

/**
 * Usage in meters that its price has: what is read by way of a cache is charged as input where the cache has no price, and
 * what comes in a size or quality without one as the most expensive that has. Else any such use would be free.
 */
export function payableUsage(told: UsageLine, price: Price): PayableUsage {
  const usage = inNamedTier(paidOnce(told, price), price)
  const rates = ratesOf(price)
  const meters = { ...usage.meters }
  let isShort = false
  for (const [meter, others] of readAs) {
    const units = meters[meter]
    if (units === undefined || !(units > 0) || isTokenPriced(rates, meter)) continue
    const other = others.find(one => isTokenPriced(rates, one))
    if (other === undefined) continue
    isShort ||= meter !== 'cachedInput'
    meters[other] = (meters[other] ?? 0) + units
    delete meters[meter]
  }
  const variant = payableVariant(usage, rates)
  if (variant === usage.variant) return { usage: { ...usage, meters }, isShort }
  return { usage: { ...usage, meters, ...(variant !== undefined && { variant }) }, isShort: true }
}

/**
 * What is told in two ways is paid for once: speech by its tokens and what is heard by its seconds, where those have a
 * price, and else by its characters and its tokens.
 */
function paidOnce(usage: UsageLine, price: Price): UsageLine {
  const meters = { ...usage.meters }
  if (meters.characters !== undefined && meters.audioOutput !== undefined) {
    if (isTokenPriced(ratesOf(price), 'audioOutput')) delete meters.characters
    else {
      delete meters.audioOutput
      delete meters.input
    }
  }
  if (meters.audioSeconds !== undefined && meters.audioInput !== undefined)
    delete meters[isPricedBySecond(price) ? 'audioInput' : 'audioSeconds']
  return { ...usage, meters }
}

function inNamedTier(usage: UsageLine, { factors }: Price): UsageLine {
  const { tier } = usage
  if (tier === undefined) return usage
  return {
    ...usage,
    tier: tier
      .split('+')
      .map(name => factorName(name, factors) ?? name)
      .join('+'),
  }
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
