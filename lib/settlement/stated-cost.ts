import type { ChargeRequest } from '../ledger/ledger.ts'
import { priceLine } from '../money/price-line.ts'
import type { Price } from '../money/price.ts'
import { ratesOf } from '../money/rates.ts'

/** Rounding, and prices a little out of date, are no cost beside the meters. */
const tolerance = 1.01
/** Units have six decimals. */
const unitScale = 1e6

/**
 * What a provider states that work cost beyond its meters, where the price has a rate for a stated dollar. OpenRouter bills
 * advisors and Google's caches with a response and counts them in no meter of it.
 * https://openrouter.ai/docs/use-cases/usage-accounting
 */
export function statedBeyond(
  lines: ChargeRequest['lines'],
  costUsd: number | undefined,
  price: Price | undefined,
): ChargeRequest['lines'][number] | undefined {
  if (price === undefined || costUsd === undefined || !(costUsd > 0)) return undefined
  const rate = ratesOf(price).perUnit.get('statedUsd')
  if (rate === undefined || rate === 0n) return undefined
  const inMicros = (statedUsd: number): number => priceLine(price, { meters: { statedUsd } }).amountMicros
  const meteredMicros = lines.reduce((sum, line) => sum + priceLine(line.price, line.usage).amountMicros, 0)
  const statedMicros = inMicros(costUsd)
  if (statedMicros <= meteredMicros * tolerance) return undefined
  const statedUsd = Math.round(((statedMicros - meteredMicros) / inMicros(1)) * unitScale) / unitScale
  return statedUsd > 0 ? { usage: { meters: { statedUsd } }, price } : undefined
}
