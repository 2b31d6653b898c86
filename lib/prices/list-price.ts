import { parseDecimal } from '../money/decimal.ts'
import type { Decimal, Price } from '../money/price.ts'

/** The factor by which a price may rise or fall at once. Providers have cut prices to a fifth. */
const factorMax = 10n

/** Whether a price differs so much from the one before that it counts as a mistake. */
export function isPriceJump(before: Decimal, after: Decimal): boolean {
  const [left, right] = [parseDecimal(before), parseDecimal(after)]
  // A free meter may get a price; a priced one does not become free.
  return left > 0n && (right > left * factorMax || right * factorMax < left)
}

/** Prices by meter, in dollars. */
export type Dollars = Record<string, string>

/** A provider's list price in dollars, in the form of the config. */
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

/** Prices of a list: numbers, by the meters here. */
interface PricedMeters {
  readonly perMillion: ReadonlyMap<string, number>
  readonly perUnit: ReadonlyMap<string, number>
  /** Prices of longer prompts, by the number of tokens that a prompt must exceed. */
  readonly above: ReadonlyMap<number, ReadonlyMap<string, number>>
}

/** Converts a list price to the form of the config. */
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
 * The config's prices have nine decimals. A longer one is rounded up: nothing is sold below its cost. A negative price
 * keeps its sign, and is refused when it is read.
 */
function decimal(price: number): string {
  const exact = Number(price.toFixed(12))
  const rounded = exact.toFixed(9)
  const isBelow = Number(rounded) < exact
  return (isBelow ? (exact + 1e-9).toFixed(9) : rounded).replace(/\.?0+$/, '')
}

/** One amount of a price. */
export interface PriceRow {
  /** `input`, or `input above 200000` for long prompts. */
  readonly meter: string
  /** Roubles for a million units or for one. */
  readonly unit: 'million' | 'one'
  readonly amount: Decimal
}

/** Every amount of a price, by its name. */
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
