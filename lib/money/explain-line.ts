import { costParts, isCount, scaledUnits, type CostPart } from './price-line.ts'
import { decimalScale, writeDecimal } from './decimal.ts'
import { type Decimal, type Price, ratesOf } from './price.ts'
import type { Meter, UsageLine } from './usage.ts'

/** Rates are micro-roubles a unit, units have six decimals. */
const costScale = decimalScale + 6 + 6

/** One part of a line's sum. */
interface ExplainedPart {
  readonly meter: Meter
  readonly units: number
  /** Roubles for a million units, or for one; absent if they are not charged. */
  readonly price?: { readonly rub: Decimal; readonly per: 1 | 1_000_000 }
  /** The price applies to prompts longer than this. */
  readonly above?: number
  /** Exact, in roubles. */
  readonly cost: Decimal
}

/** The parts of a line's amount. */
export interface ExplainedLine {
  readonly parts: readonly ExplainedPart[]
  /** The factor of the served tier, by which the sum is multiplied. */
  readonly factor?: Decimal
  /** Exact roubles, which are rounded to the micro-rouble once. */
  readonly cost: Decimal
}

function explainPart({ meter, units, rate, isPerUnit, above }: CostPart): ExplainedPart {
  const cost = rate === undefined || !isCount(units) ? 0n : scaledUnits(units) * rate
  const scale = isPerUnit ? decimalScale + 6 : decimalScale
  return {
    meter,
    units,
    ...(rate !== undefined && { price: { rub: writeDecimal(rate, scale), per: isPerUnit ? 1 : 1_000_000 } }),
    ...(above >= 0 && { above }),
    cost: writeDecimal(cost, costScale),
  }
}

/** Explains the amount that `priceLine` computes. */
export function explainLine(price: Price, line: UsageLine): ExplainedLine {
  const rates = ratesOf(price)
  const parts = costParts(rates, line)
  let sum = 0n
  for (const { units, rate } of parts) if (rate !== undefined) sum += scaledUnits(units) * rate
  const factors = (line.tier?.split('+') ?? []).flatMap(name => rates.factors.get(name) ?? [])
  const factor = factors.reduce((product, one) => product * one, 1n)
  const scale = factors.length * decimalScale
  return {
    parts: parts.map(explainPart),
    ...(factors.length > 0 && { factor: writeDecimal(factor, scale) }),
    cost: writeDecimal(sum * factor, costScale + scale),
  }
}
