import { amountMicrosMax } from './amount.ts'
import type { Micros } from './amount.ts'
import { costParts, isCount, promptLength, scaledUnits, unitScale } from './cost-parts.ts'
import type { Price } from './price.ts'
import { rateUnit, ratesOf } from './rates.ts'
import type { RateLevel, Rates } from './rates.ts'
import type { Meter, UsageLine } from './usage.ts'

/** What a line of usage costs. */
interface LineAmount {
  readonly amountMicros: Micros
  /** Meters with units but without a price: charged nothing. */
  readonly unpriced: readonly Meter[]
  /** A served tier without a factor: charged as standard. */
  readonly unpricedTier?: string
  /** Some units were negative, not numbers or absurdly many; they are charged nothing. */
  readonly isInvalid?: boolean
}

const standardTiers: ReadonlySet<string> = new Set(['standard', 'default'])

interface Found {
  readonly unpriced: Meter[]
  isInvalid: boolean
}

function rounded(value: bigint, scale: bigint, round: Price['round']): bigint {
  return (value + (round === 'up' ? scale - 1n : scale / 2n)) / scale
}

/**
 * The exact cost of a line times `costScale`, before any rounding. The `unpriced` meters and invalid units
 * found on the way are added to `found`.
 */
function exactCost(rates: Rates, line: UsageLine, found: Found): bigint {
  let cost = 0n
  for (const { meter, units, rate } of costParts(rates, line)) {
    if (rate !== undefined) cost += scaledUnits(units) * rate
    else if (isCount(units)) found.unpriced.push(meter)
    else found.isInvalid = true
  }
  return cost
}

/**
 * What a line costs: the exact sum of units times prices, times the factor of the tier that was served,
 * rounded once, as the price says. Never negative, never NaN.
 */
export function priceLine(price: Price, line: UsageLine): LineAmount {
  const rates = ratesOf(price)
  const found: Found = { unpriced: [], isInvalid: false }
  let cost = exactCost(rates, line, found)
  let scale = rateUnit * unitScale
  let unpricedTier: string | undefined
  if (line.tier !== undefined) {
    for (const name of line.tier.split('+')) {
      const factor = rates.factors.get(name)
      if (factor !== undefined) {
        cost *= factor
        scale *= rateUnit
      } else if (!standardTiers.has(name)) unpricedTier = line.tier
    }
  }
  const amount = rounded(cost, scale, price.round)
  // No request costs a thousand million roubles: a provider that says so is not believed.
  const isAbsurd = amount > amountMicrosMax
  return {
    amountMicros: isAbsurd ? 0 : Number(amount),
    unpriced: found.unpriced,
    ...(unpricedTier === undefined ? {} : { unpricedTier }),
    ...(found.isInvalid || isAbsurd ? { isInvalid: true } : {}),
  }
}

/**
 * The cost of usage that is only expected: at the dearest of the rates that a prompt up to this length can
 * meet, rounded up. Usage that is no number costs the most there is, so that a hold for it is refused.
 */
export function priceAtMost(price: Price, line: UsageLine): Micros {
  const rates = ratesOf(price)
  const found: Found = { unpriced: [], isInvalid: false }
  const [first, ...others] = rates.levels
  const levels: [RateLevel, ...RateLevel[]] = [first]
  let dearest = exactCost(others.length === 0 ? rates : { ...rates, levels }, line, found)
  for (const level of others) {
    if (promptLength(line) <= level.above) break
    levels.push(level)
    const cost = exactCost({ ...rates, levels }, line, found)
    if (cost > dearest) dearest = cost
  }
  const scale = rateUnit * unitScale
  const amount = (dearest + scale - 1n) / scale
  return found.isInvalid || amount > amountMicrosMax ? amountMicrosMax : Number(amount)
}
