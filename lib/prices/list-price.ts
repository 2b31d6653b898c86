import { parseDecimal } from '../money/decimal.ts'
import type { Decimal, Price } from '../money/price.ts'

/** By what factor a price may rise or fall at once. Providers have cut prices to a fifth. */
const factorMax = 10n

/** Whether a price differs from the one before so much that it is taken for a mistake. */
export function isPriceJump(before: Decimal, after: Decimal): boolean {
  const [left, right] = [parseDecimal(before), parseDecimal(after)]
  // What was free may get a price; what has one does not become free.
  return left > 0n && (right > left * factorMax || right * factorMax < left)
}

/** Prices by meter, in dollars. */
export type Dollars = Record<string, string>

/** A provider's list price in dollars, as the config writes prices. */
export interface ListPrice {
  readonly from?: string
  readonly usdPerMillion?: Dollars
  readonly usdPerUnit?: Dollars
  readonly above?: readonly {
    readonly inputTokens: number
    readonly mode: 'whole'
    readonly usdPerMillion: Dollars
  }[]
  readonly factors?: Readonly<Record<string, string>>
}

/** Prices as a list has them: numbers, by our meters. */
interface PricedMeters {
  readonly perMillion: ReadonlyMap<string, number>
  readonly perUnit: ReadonlyMap<string, number>
  /** Prices of longer prompts: by the tokens that a prompt has more of. */
  readonly above: ReadonlyMap<number, ReadonlyMap<string, number>>
}

/** A list price as the config writes it. */
export function listPrice({ perMillion, perUnit, above }: PricedMeters): ListPrice {
  return {
    ...(perMillion.size > 0 && { usdPerMillion: dollars(perMillion) }),
    ...(perUnit.size > 0 && { usdPerUnit: dollars(perUnit) }),
    ...(above.size > 0 && {
      above: [...above].map(([inputTokens, prices]) => ({
        inputTokens,
        mode: 'whole' as const,
        usdPerMillion: dollars(prices),
      })),
    }),
  }
}

function dollars(prices: ReadonlyMap<string, number>): Dollars {
  return Object.fromEntries([...prices].map(([meter, price]) => [meter, decimal(price)]))
}

/**
 * The config's prices have nine decimals. What has more is rounded up: nothing is sold below its cost. A negative price
 * keeps its sign, and is refused where it is read.
 */
function decimal(price: number): string {
  const exact = Number(price.toFixed(12))
  const rounded = exact.toFixed(9)
  const isBelow = Number(rounded) < exact
  return (isBelow ? (exact + 1e-9).toFixed(9) : rounded).replace(/\.?0+$/, '')
}

/** One amount of a price. */
export interface PriceRow {
  /** `input`, or `input above 200000` of long prompts. */
  readonly meter: string
  /** Roubles for a million units or for one. */
  readonly unit: 'million' | 'one'
  readonly amount: Decimal
}

/** Every amount of a price, by what it is called. */
export function priceRows({ rubPerMillion, rubPerUnit, above }: Price): readonly PriceRow[] {
  const rows = (
    table: Readonly<Record<string, Decimal>>,
    unit: PriceRow['unit'],
    ending = '',
  ): readonly PriceRow[] =>
    Object.entries(table).map(([meter, amount]) => ({ meter: meter + ending, unit, amount }))
  return [
    ...rows(rubPerMillion, 'million'),
    ...above.flatMap(level => rows(level.rubPerMillion, 'million', ` above ${level.inputTokens}`)),
    ...rows(rubPerUnit, 'one'),
  ]
}
