import { productOf, sumOf, canonicalDecimal } from './decimal.ts'
import { startOf, type Decimal, type Price, type PriceTier } from './price.ts'
import { createHash } from 'node:crypto'
import { meters, type Meter } from './usage.ts'

/** A price in the form of the config; absent members are empty. */
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

/** Copies decimals in canonical form, ordered by name: the hash must not depend on their spelling. */
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

/** The text that is hashed and stored: everything in a price but its hash, in a fixed order. */
export function canonicalPrice(price: Omit<Price, 'hash'>): string {
  const { model, from, rubPerMillion, rubPerUnit, above, factors, round } = price
  return JSON.stringify({ model, from, rubPerMillion, rubPerUnit, above, factors, round })
}

/** The version of a price: the hash of its canonical text. */
export function priceHash(canonical: string): string {
  return createHash('sha256').update(canonical).digest('base64url')
}

/**
 * Makes a price from the config's form, normalized and with its hash.
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

type Decimals = Readonly<Record<string, Decimal | undefined>>

/** A price in dollars, as in a provider's price list. */
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
 * Converts a price in dollars to one in roubles, exactly. Its other members, such as its date and factors, stay.
 * @param rubPerDollar the exchange rate times the coefficient
 */
function inRoubles<P extends DollarPrice>(price: P, rubPerDollar: Decimal) {
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

/** The source of the exchange rate: fixed, or the Central Bank's rate of the day with a margin. */
type UsdRub = Decimal | { readonly from: 'cbr'; readonly marginPercent: Decimal }

/** How the list price of a model becomes its price. */
export interface Pricing {
  readonly usdRub: UsdRub
  readonly coefficient: Decimal
  readonly round: 'half-up' | 'up'
}

/** The same with only the differing members. */
export type OwnPricing = { readonly [K in keyof Pricing]?: Pricing[K] | undefined }

/** A model's list price, in versions by date, and how it becomes the price. */
export interface ListPricing extends Pricing {
  readonly versions: readonly DollarPrice[]
}

/** A rate of the Central Bank. */
export interface DatedRate {
  /** ISO time from which it applies; absent: always. */
  readonly from?: string
  /** Roubles for a dollar. */
  readonly usdRub: Decimal
}

/** The setting closest to the model applies: its own, its first provider's, that of the section `prices`. */
export function pricingOf(general: Pricing, ...nearestFirst: readonly (OwnPricing | undefined)[]): Pricing {
  const find = <K extends keyof Pricing>(name: K): Pricing[K] => {
    const nearest = nearestFirst.find(one => one?.[name] !== undefined)
    return nearest?.[name] ?? general[name]
  }
  const usdRub = find('usdRub')
  return {
    usdRub: typeof usdRub === 'string' ? usdRub : { from: 'cbr', marginPercent: usdRub.marginPercent },
    coefficient: find('coefficient'),
    round: find('round'),
  }
}

/**
 * The versions of a model's price in roubles, oldest first. A version begins where its list price or its rate does.
 * @param rates the Central Bank's, for pricing by them; without any there is no price
 * @throws RangeError when a price would have too many digits
 */
export function priceVersions(model: string, list: ListPricing, rates: readonly DatedRate[]): Price[] {
  const { versions, coefficient, round } = list
  const dated = ratesOf(list.usdRub, rates)
  const starts = new Map([...versions, ...dated].map(({ from }) => [startOf(from), from]))
  return [...starts]
    .toSorted(([left], [right]) => left - right)
    .flatMap(([start, from]) => {
      const version = inForce(versions, start)
      const rate = inForce(dated, start)
      if (version === undefined || rate === undefined) return []
      return [buildPrice({ model, ...inRoubles(version, productOf(rate.usdRub, coefficient)), round, from })]
    })
}

function ratesOf(usdRub: UsdRub, rates: readonly DatedRate[]): readonly DatedRate[] {
  if (typeof usdRub === 'string') return [{ usdRub }]
  const factor = productOf('0.01', sumOf('100', usdRub.marginPercent))
  return rates.map(rate => ({ ...rate, usdRub: productOf(rate.usdRub, factor) }))
}

function inForce<T extends { readonly from?: string | undefined }>(
  versions: readonly T[],
  at: number,
): T | undefined {
  let best: T | undefined
  for (const version of versions) {
    const isReached = startOf(version.from) <= at
    if (isReached && (best === undefined || startOf(version.from) >= startOf(best.from))) best = version
  }
  return best
}
