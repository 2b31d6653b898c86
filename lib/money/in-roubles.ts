import { productOf } from './decimal.ts'
import type { Decimal } from './price.ts'

type Decimals = Readonly<Record<string, Decimal | undefined>>

/** A price in dollars, as a provider's price list has it. */
export interface DollarPrice {
  readonly from?: string | undefined
  readonly usdPerMillion?: Decimals | undefined
  readonly usdPerUnit?: Decimals | undefined
  readonly above?:
    | readonly {
        readonly inputTokens: number
        readonly mode: 'whole' | 'excess'
        readonly usdPerMillion?: Decimals | undefined
      }[]
    | undefined
  readonly factors?: Decimals | undefined
}

/**
 * A price in dollars as one in roubles, exactly. What else it says, such as its date and factors, stays.
 * @param rubPerDollar the exchange rate times the coefficient
 */
export function inRoubles<P extends DollarPrice>(price: P, rubPerDollar: Decimal) {
  const { usdPerMillion, usdPerUnit, above, ...others } = price
  return {
    ...others,
    rubPerMillion: times(usdPerMillion, rubPerDollar),
    rubPerUnit: times(usdPerUnit, rubPerDollar),
    above: above
      ?.filter(tier => tier.usdPerMillion !== undefined)
      .map(({ inputTokens, mode, usdPerMillion: dollars }) => ({
        inputTokens,
        mode,
        rubPerMillion: times(dollars, rubPerDollar),
      })),
  }
}

function times(table: Decimals | undefined, rubPerDollar: Decimal): Record<string, Decimal> {
  return Object.fromEntries(
    Object.entries(table ?? {}).flatMap(([name, dollars]) =>
      dollars === undefined ? [] : [[name, productOf(dollars, rubPerDollar)]],
    ),
  )
}
