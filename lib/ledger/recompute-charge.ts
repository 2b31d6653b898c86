import { amountMicrosMax } from '../money/amount.ts'
import type { Micros } from '../money/amount.ts'
import type { Price } from '../money/price.ts'
import { priceLine } from '../money/price-line.ts'
import type { ChargeLine } from './price-charge.ts'

interface RecomputedCost {
  /** What the lines cost by the prices they name; undefined when one of those is not known. */
  readonly costMicros: Micros | undefined
  /** What does not agree, as sentences without a name; empty when all does. */
  readonly differences: readonly string[]
}

/**
 * Works a charge out again from the meters and the price version that stand in its lines.
 * @param costMicros what was charged, the overrun included
 */
export function recomputeCharge(
  lines: readonly ChargeLine[],
  costMicros: Micros,
  prices: ReadonlyMap<string, Price>,
): RecomputedCost {
  const differences: string[] = []
  let storedMicros = 0
  let againMicros = 0
  let isKnown = true
  for (const line of lines) {
    storedMicros += line.amountMicros
    const price = prices.get(line.priceVersion)
    if (price === undefined) {
      isKnown = false
      differences.push('a charge names a price that is not known')
      continue
    }
    const { amountMicros } = priceLine(price, line)
    // As it was charged: lines that add up to nonsense cost nothing.
    const ownMicros = againMicros + amountMicros > amountMicrosMax ? 0 : amountMicros
    againMicros += ownMicros
    if (ownMicros !== line.amountMicros) {
      differences.push('a charge is not what its usage costs by its price')
    }
  }
  if (storedMicros !== costMicros) differences.push('the lines of a charge do not add up to it')
  return { costMicros: isKnown ? againMicros : undefined, differences }
}
