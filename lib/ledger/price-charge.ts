import { amountMicrosMax } from '../money/amount.ts'
import { priceLine } from '../money/price-line.ts'
import type { Meters } from '../money/usage.ts'
import type { ChargeRequest, Micros } from './ledger.ts'
import type { Price } from '../money/price.ts'

/** One line of a charge as it is stored: enough to recompute the amount. */
export interface ChargeLine {
  readonly model: string
  readonly meters: Meters
  readonly tier?: string
  readonly variant?: string
  readonly sumOf?: number
  readonly priceVersion: string
  readonly amountMicros: Micros
}

interface PricedCharge {
  readonly lines: readonly ChargeLine[]
  readonly costMicros: Micros
  readonly flags: readonly string[]
}

// JSON would turn NaN and Infinity into null; the provider's own numbers are in the raw usage anyway.
function countable(meters: Meters): Meters {
  const result: Meters = { ...meters }
  for (const units of Object.values(result)) {
    if (!Number.isFinite(units))
      return Object.fromEntries(Object.entries(meters).filter(([, count]) => Number.isFinite(count)))
  }
  return result
}

/** Computes what a charge costs, line by line, and flags what an operator should check. */
export function priceCharge(request: ChargeRequest): PricedCharge {
  const lines: ChargeLine[] = []
  let flags = request.flags
  let costMicros = 0
  const raise = (flag: string): void => {
    if (!flags.includes(flag)) flags = [...flags, flag]
  }
  for (const { usage, price } of request.lines) {
    const amount = priceLine(price, usage)
    if (amount.unpriced.length > 0) raise('meter_unpriced')
    if (amount.unpricedTier !== undefined) raise('tier_unpriced')
    // Lines that are plausible one by one may still add up to nonsense.
    const isAbsurd = costMicros + amount.amountMicros > amountMicrosMax
    if (amount.isInvalid === true || isAbsurd) raise('usage_invalid')
    const amountMicros = isAbsurd ? 0 : amount.amountMicros
    costMicros += amountMicros
    lines.push({
      model: usage.model ?? request.model,
      meters: countable(usage.meters),
      ...(usage.tier === undefined ? {} : { tier: usage.tier }),
      ...(usage.variant === undefined ? {} : { variant: usage.variant }),
      ...(usage.sumOf === undefined ? {} : { sumOf: usage.sumOf }),
      priceVersion: price.hash,
      amountMicros,
    })
  }
  // The charge is not what the provider will bill, which is unknown.
  if (flags.includes('usage_invalid')) raise('ambiguous')
  return { lines, costMicros, flags }
}

/** The flags of a charge that was paid, with `overrun` when the account could not pay all of it. */
export function paidFlags(flags: readonly string[], overrunMicros: Micros): readonly string[] {
  return overrunMicros > 0 ? [...flags, 'overrun'] : flags
}

interface RecomputedCost {
  /** What the lines cost at the prices that they name; undefined when one of those is unknown. */
  readonly costMicros: Micros | undefined
  /** What does not agree, as sentences without a name; empty when everything agrees. */
  readonly differences: readonly string[]
}

/**
 * Recomputes a charge from the meters and the price versions in its lines.
 * @param costMicros what was charged, including the overrun
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
    if (ownMicros !== line.amountMicros) differences.push('a charge is not what its usage costs by its price')
  }
  if (storedMicros !== costMicros) differences.push('the lines of a charge do not add up to it')
  return { costMicros: isKnown ? againMicros : undefined, differences }
}
