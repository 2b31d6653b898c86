import { costParts, isCount, scaledUnits, type CostPart } from './price-line.ts'
import { decimalScale, writeDecimal } from './decimal.ts'
import { type Decimal, type Price, ratesOf } from './price.ts'
import type { Meter, UsageLine } from './usage.ts'

/** Rates are micro-roubles a unit, units have six decimals. */
const costScale = decimalScale + 6 + 6

/** One step of the sum that a line is. */
interface ExplainedPart {
  readonly meter: Meter
  readonly units: number
  /** Roubles for a million units, or for one; absent where nothing is charged for them. */
  readonly price?: { readonly rub: Decimal; readonly per: 1 | 1_000_000 }
  /** The price is one for prompts longer than this. */
  readonly above?: number
  /** Exact, in roubles. */
  readonly cost: Decimal
}

/** How the amount of a line comes about. */
export interface ExplainedLine {
  readonly parts: readonly ExplainedPart[]
  /** What the sum is multiplied by, for the tier that was served. */
  readonly factor?: Decimal
  /** Roubles, exact: what is rounded to the micro-rouble, once. */
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

/** Says how `priceLine` comes to its amount. */
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
