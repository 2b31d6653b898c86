import { createHash } from 'node:crypto'
import { canonicalDecimal } from './decimal.ts'
import type { Decimal, Price, PriceTier } from './price.ts'
import { meters, type Meter } from './usage.ts'

/** A price as the config writes it; absent members are empty. */
export interface PriceInput {
  readonly model: string
  readonly from?: string | undefined
  readonly rubPerMillion?: Readonly<Record<string, Decimal | undefined>> | undefined
  readonly rubPerUnit?: Readonly<Record<string, Decimal | undefined>> | undefined
  readonly above?:
    | readonly {
        readonly inputTokens: number
        readonly mode: 'whole' | 'excess'
        readonly rubPerMillion?: Readonly<Record<string, Decimal | undefined>> | undefined
      }[]
    | undefined
  readonly factors?: Readonly<Record<string, Decimal | undefined>> | undefined
  readonly round?: 'half-up' | 'up' | undefined
}

const knownMeters: ReadonlySet<string> = new Set(meters)

function byCodeUnit(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** Copies decimals in canonical form, ordered by name: the hash must not depend on how they were written. */
function decimals(
  table: Readonly<Record<string, Decimal | undefined>> | undefined,
  path: string,
  meterOf: (name: string) => string | undefined,
): Record<string, Decimal> {
  const result: Record<string, Decimal> = {}
  for (const name of Object.keys(table ?? {}).sort(byCodeUnit)) {
    const value = table?.[name]
    if (value === undefined) continue
    const meter = meterOf(name)
    if (meter !== undefined && !knownMeters.has(meter))
      throw new RangeError(`${path}.${name}: "${meter}" is not a meter; meters are ${meters.join(', ')}`)
    try {
      result[name] = canonicalDecimal(value)
    } catch (error) {
      throw new RangeError(`${path}.${name}: "${value}" is not a decimal, such as "0.15"`, { cause: error })
    }
  }
  return result
}

const itself = (name: string): string => name
const beforeSlash = (name: string): string => name.split('/', 1)[0] ?? ''
const noMeter = (): undefined => undefined

function tiers(above: PriceInput['above']): PriceTier[] {
  const priced = (above ?? []).filter(tier => tier.rubPerMillion !== undefined)
  const result = priced.map((tier, index): PriceTier => {
    const path = `above[${index}]`
    if (!Number.isSafeInteger(tier.inputTokens) || tier.inputTokens < 0)
      throw new RangeError(`${path}.inputTokens: ${tier.inputTokens} is not a number of tokens`)
    const rubPerMillion: { [M in Meter]?: Decimal } = decimals(
      tier.rubPerMillion,
      `${path}.rubPerMillion`,
      itself,
    )
    return { inputTokens: tier.inputTokens, mode: tier.mode, rubPerMillion }
  })
  return result.sort((left, right) => left.inputTokens - right.inputTokens)
}

function checkedFrom(from: string): string {
  if (Number.isNaN(Date.parse(from)))
    throw new RangeError(`from: "${from}" is not a date, such as 2026-01-31`)
  return from
}

/** The text that is hashed and stored: everything of a price but its hash, in a fixed order. */
export function canonicalPrice(price: Omit<Price, 'hash'>): string {
  const { model, from, rubPerMillion, rubPerUnit, above, factors, round } = price
  return JSON.stringify({ model, from, rubPerMillion, rubPerUnit, above, factors, round })
}

/** The version of a price: the hash of its canonical text. */
export function priceHash(canonical: string): string {
  return createHash('sha256').update(canonical).digest('base64url')
}

/**
 * Makes a price from the config's form, normalised and with its hash.
 * @throws RangeError naming the path of the wrong value within the price
 */
export function buildPrice(input: PriceInput): Price {
  const price = {
    model: input.model,
    ...(input.from === undefined ? {} : { from: checkedFrom(input.from) }),
    rubPerMillion: decimals(input.rubPerMillion, 'rubPerMillion', itself),
    rubPerUnit: decimals(input.rubPerUnit, 'rubPerUnit', beforeSlash),
    above: tiers(input.above),
    factors: decimals(input.factors, 'factors', noMeter),
    ...(input.round === 'up' && { round: 'up' as const }),
  }
  return Object.freeze({ hash: priceHash(canonicalPrice(price)), ...price })
}
