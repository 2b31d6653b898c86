import { parseDecimal, writeDecimal } from './decimal.ts'
import type { Decimal } from './price.ts'

type Decimals = Readonly<Record<string, Decimal | undefined>>

interface DollarPrice {
  readonly usdPerMillion?: Decimals | undefined
  readonly usdPerUnit?: Decimals | undefined
  readonly above?:
    | readonly {
        readonly inputTokens: number
        readonly mode: 'whole' | 'excess'
        readonly usdPerMillion?: Decimals | undefined
      }[]
    | undefined
}

/**
 * A price in dollars as one in roubles, rounded half up behind the twelfth decimal. What else a price says,
 * such as its date and factors, stays.
 */
export function inRoubles<P extends DollarPrice>(price: P, usdRub: Decimal) {
  const { usdPerMillion, usdPerUnit, above, ...others } = price
  return {
    ...others,
    rubPerMillion: times(usdPerMillion, usdRub),
    rubPerUnit: times(usdPerUnit, usdRub),
    above: above
      ?.filter(tier => tier.usdPerMillion !== undefined)
      .map(({ inputTokens, mode, usdPerMillion: dollars }) => ({
        inputTokens,
        mode,
        rubPerMillion: times(dollars, usdRub),
      })),
  }
}

/** Both factors have twelve decimals. */
const scale = 12
const unit = 10n ** 12n

function times(table: Decimals | undefined, usdRub: Decimal): Record<string, Decimal> {
  const rate = parseDecimal(usdRub)
  return Object.fromEntries(
    Object.entries(table ?? {}).flatMap(([name, dollars]) =>
      dollars === undefined
        ? []
        : [[name, writeDecimal((parseDecimal(dollars) * rate + unit / 2n) / unit, scale)]],
    ),
  )
}
