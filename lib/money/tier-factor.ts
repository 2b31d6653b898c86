import { amountMicrosMax } from './amount.ts'
import type { Micros } from './amount.ts'
import { decimalUnit, parseDecimal } from './decimal.ts'
import type { Decimal, Price } from './price.ts'

/** Tiers that nobody asks more for than the usual price. `auto` is the provider's choice, which may be dearer. */
const plainTiers: ReadonlySet<string> = new Set([
  '',
  'default',
  'standard',
  'standard_only',
  'on_demand',
  'flex',
  'batch',
  'unspecified',
  // Where an answer is made is served as it is asked for.
  'us',
])

/**
 * The factor at which a request may come to be charged that asks for a tier; undefined where it is 1 at most. A
 * tier is served under other names than it is asked for, so one without a factor may be the dearest there is.
 */
function factorAtMost({ factors }: Price, tier: string): Decimal | undefined {
  const name = tier.toLowerCase().replace(/^service_tier_/, '')
  if (factors[name] === undefined && plainTiers.has(name)) return undefined
  const known = factors[name] === undefined ? Object.values(factors) : [factors[name]]
  let dearest: Decimal | undefined
  let most = decimalUnit
  for (const factor of known) {
    const exact = parseDecimal(factor)
    if (exact > most) [dearest, most] = [factor, exact]
  }
  return dearest
}

/** An amount times the factors of all that is asked for: `fast+us`. */
export function timesFactorsAtMost(amount: Micros, price: Price, tier: string | undefined): Micros {
  let micros = amount
  for (const name of tier?.split('+') ?? []) micros = timesFactor(micros, factorAtMost(price, name))
  return micros
}

/** An amount times a factor, rounded up. */
export function timesFactor(amount: Micros, factor: Decimal | undefined): Micros {
  if (factor === undefined) return amount
  const exact = BigInt(amount) * parseDecimal(factor)
  const micros = (exact + decimalUnit - 1n) / decimalUnit
  return micros > BigInt(amountMicrosMax) ? amountMicrosMax : Number(micros)
}
