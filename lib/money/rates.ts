import { decimalUnit, parseDecimal } from './decimal.ts'
import type { Price } from './price.ts'
import { meters } from './usage.ts'
import type { Meter } from './usage.ts'

/** Rates are micro-roubles a unit, times this. */
export const rateUnit = decimalUnit

type RateTable = { [M in Meter]?: bigint }

/** One range of prompt lengths and what a unit costs there. */
export interface RateLevel {
  /** The level applies to prompts longer than this; -1 for the first. */
  readonly above: number
  readonly mode: 'whole' | 'excess'
  readonly rates: Readonly<RateTable>
}

/** A price made ready for arithmetic. */
export interface Rates {
  /** By prompt length, ascending; the first always applies. */
  readonly levels: readonly [RateLevel, ...RateLevel[]]
  /** By meter or `meter/variant`. */
  readonly perUnit: ReadonlyMap<string, bigint>
  /** Times `rateUnit`. */
  readonly factors: ReadonlyMap<string, bigint>
  /** The meters that a response may be written in, without those that never cost more than `output`. */
  readonly written: readonly Meter[]
  /** The writes to a cache that may cost more than reading the same without one. */
  readonly cacheWrites: readonly Meter[]
}

/** Audio and image tokens without a price of their own cost what text does. Writes to the cache do not. */
const fallbacks: readonly (readonly [Meter, readonly Meter[]])[] = [
  ['cachedAudioInput', ['cachedInput', 'input']],
  ['audioInput', ['input']],
  ['imageInput', ['input']],
  ['audioOutput', ['output']],
  ['imageOutput', ['output']],
]

const otherOutputs = ['audioOutput', 'imageOutput'] as const
const cacheWrites = ['cacheWrite5m', 'cacheWrite1h'] as const

// Roubles per million units and micro-roubles per unit are the same number.
function explicitRates(rubPerMillion: Price['rubPerMillion'], below: RateTable): RateTable {
  const rates: RateTable = { ...below }
  for (const meter of meters) {
    const text = rubPerMillion[meter]
    if (text !== undefined) rates[meter] = parseDecimal(text)
  }
  return rates
}

function withFallbacks(explicit: RateTable): RateTable {
  const rates: RateTable = { ...explicit }
  for (const [meter, others] of fallbacks) {
    for (const other of others) {
      if (rates[meter] === undefined && explicit[other] !== undefined) rates[meter] = explicit[other]
    }
  }
  return rates
}

function compileRates(price: Price): Rates {
  let explicit = explicitRates(price.rubPerMillion, {})
  const levels: [RateLevel, ...RateLevel[]] = [{ above: -1, mode: 'whole', rates: withFallbacks(explicit) }]
  for (const tier of price.above.toSorted((left, right) => left.inputTokens - right.inputTokens)) {
    // A meter that the dearer level does not name keeps the rate below it.
    explicit = explicitRates(tier.rubPerMillion, explicit)
    levels.push({ above: tier.inputTokens, mode: tier.mode, rates: withFallbacks(explicit) })
  }
  const perUnit = new Map<string, bigint>()
  for (const [name, text] of Object.entries(price.rubPerUnit)) {
    perUnit.set(name, parseDecimal(text) * 1_000_000n)
  }
  const factors = new Map<string, bigint>()
  for (const [tier, text] of Object.entries(price.factors)) factors.set(tier, parseDecimal(text))
  const mayCostMore = (meter: Meter, than: Meter): boolean =>
    levels.some(({ rates }) => rates[than] === undefined || (rates[meter] ?? 0n) > rates[than]) ||
    [...perUnit.keys()].some(name => name.startsWith(meter) || name.startsWith(than))
  return {
    levels,
    perUnit,
    factors,
    written: ['output', ...otherOutputs.filter(meter => mayCostMore(meter, 'output'))],
    // Above a threshold it also counts what stands before what.
    cacheWrites: cacheWrites.filter(
      meter => mayCostMore(meter, 'input') || levels.some(({ mode }) => mode === 'excess'),
    ),
  }
}

const compiled = new WeakMap<Price, Rates>()

/** The rates of a price; worked out once for each price object. */
export function ratesOf(price: Price): Rates {
  let rates = compiled.get(price)
  if (rates === undefined) {
    rates = compileRates(price)
    compiled.set(price, rates)
  }
  return rates
}

/** The rate of a unit by its variant, dropping the variant's parts from the right until one is priced. */
export function unitRate(rates: Rates, meter: Meter, variant: string | undefined): bigint | undefined {
  if (rates.perUnit.size === 0) return undefined
  let name = variant === undefined || variant === '' ? meter : `${meter}/${variant}`
  for (;;) {
    const rate = rates.perUnit.get(name)
    if (rate !== undefined) return rate
    const slash = name.lastIndexOf('/')
    if (slash === -1) return undefined
    name = name.slice(0, slash)
  }
}
