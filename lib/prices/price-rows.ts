import type { Decimal, Price } from '../money/price.ts'

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
