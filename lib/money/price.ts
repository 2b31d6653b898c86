import { type Meter, meters } from './usage.ts'
import { decimalUnit, parseDecimal } from './decimal.ts'

/** A decimal as written in the config, such as `"0.15"`: never a float. */
export type Decimal = string

/** A higher rate for long prompts. */
export interface PriceTier {
  /** The tier applies when the prompt (all input meters together) is longer than this many tokens. */
  readonly inputTokens: number
  /** `whole`: the whole request at this rate; `excess`: only the part above. */
  readonly mode: 'whole' | 'excess'
  readonly rubPerMillion: Readonly<{ [M in Meter]?: Decimal }>
}

/** The price of a model, from a date on. */
export interface Price {
  /** SHA-256 of the canonical JSON of all other members, base64url: the price's version. */
  readonly hash: string
  readonly model: string
  /** ISO date or time from which the price applies; absent means always. */
  readonly from?: string
  readonly rubPerMillion: Readonly<{ [M in Meter]?: Decimal }>
  /** By meter or `meter/variant`: `images/1024x1024/high`. */
  readonly rubPerUnit: Readonly<Record<string, Decimal>>
  readonly above: readonly PriceTier[]
  /** Multipliers by the served tier: `batch`, `flex`, `priority`. */
  readonly factors: Readonly<Record<string, Decimal>>
  /** The amount of a line is rounded up to the micro-rouble; half up if absent. */
  readonly round?: 'up'
}

/** Meters whose price is sufficient for an operation, like that of its main meter. */
const alternativeMeters: { readonly [M in Meter]?: readonly Meter[] } = {
  images: ['imageOutput', 'output'],
  imageOutput: ['images', 'output'],
  characters: ['audioOutput', 'output', 'audioSeconds'],
  audioOutput: ['output', 'characters'],
  audioSeconds: ['audioInput', 'input'],
  audioInput: ['input', 'audioSeconds'],
  searches: ['requests', 'input'],
}

/** Rates are micro-roubles a unit, multiplied by this. */
export const rateUnit = decimalUnit

type RateTable = { [M in Meter]?: bigint }

/** One range of prompt lengths and its rates. */
export interface RateLevel {
  /** The level applies to prompts longer than this; -1 for the first. */
  readonly above: number
  readonly mode: 'whole' | 'excess'
  readonly rates: Readonly<RateTable>
}

/** A price compiled for arithmetic. */
export interface Rates {
  /** By prompt length, ascending; the first always applies. */
  readonly levels: readonly [RateLevel, ...RateLevel[]]
  /** By meter or `meter/variant`. */
  readonly perUnit: ReadonlyMap<string, bigint>
  /** Times `rateUnit`. */
  readonly factors: ReadonlyMap<string, bigint>
  /** The output meters of a response, without those that never cost more than `output`. */
  readonly written: readonly Meter[]
  /** The cache-write meters that may cost more than plain input. */
  readonly cacheWrites: readonly Meter[]
}

/** Audio and image tokens without a price of their own cost as much as text. Cache writes do not. */
const fallbacks: readonly (readonly [Meter, readonly Meter[]])[] = [
  ['cachedAudioInput', ['cachedInput', 'input']],
  ['audioInput', ['input']],
  ['imageInput', ['input']],
  ['audioOutput', ['output']],
  ['imageOutput', ['output']],
]

/** Meters that have the price of another meter if they have none of their own. */
export const metersWithFallback: ReadonlySet<string> = new Set(fallbacks.map(([meter]) => meter))

const otherOutputs = ['audioOutput', 'imageOutput'] as const
const cacheWrites = ['cacheWrite5m', 'cacheWrite1h'] as const

const compiled = new WeakMap<Price, Rates>()

/** Whether documents are charged by their pages. */
export function isPricedByPage({ rubPerUnit, rubPerMillion }: Price): boolean {
  return rubPerUnit['pages'] !== undefined || rubPerMillion.pages !== undefined
}

/** Whether audio is charged by its length. */
export function isPricedBySecond({ rubPerUnit, rubPerMillion }: Price): boolean {
  return rubPerUnit['audioSeconds'] !== undefined || rubPerMillion.audioSeconds !== undefined
}

/** When a price with this `from` begins, in milliseconds since the epoch. */
export function startOf(from: string | undefined): number {
  return from === undefined ? -Infinity : Date.parse(from)
}

/** Selects the version of a price that applies at a moment: the one with the latest `from` not after it. */
export function priceInForce(prices: readonly Price[], atMs: number): Price | undefined {
  let best: Price | undefined
  let bestFromMs = -Infinity
  for (const price of prices) {
    const fromMs = startOf(price.from)
    if (fromMs <= atMs && (best === undefined || fromMs >= bestFromMs)) {
      best = price
      bestFromMs = fromMs
    }
  }
  return best
}

/** Whether a model has a price for the main usage of an operation; without one the request is refused. */
export function isPriced(price: Price, mainMeter: Meter): boolean {
  for (const meter of workMeters(mainMeter)) if (hasPrice(price, meter)) return true
  return false
}

/** The meters in which an operation's work may be reported and charged, with the main one first. */
export function workMeters(mainMeter: Meter): readonly Meter[] {
  return [mainMeter, ...(alternativeMeters[mainMeter] ?? [])]
}

function hasPrice(price: Price, meter: Meter): boolean {
  if (price.rubPerMillion[meter] !== undefined) return true
  return Object.keys(price.rubPerUnit).some(name => name === meter || name.startsWith(`${meter}/`))
}

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
    // A meter that the higher level does not name keeps the rate of the level below.
    explicit = explicitRates(tier.rubPerMillion, explicit)
    levels.push({ above: tier.inputTokens, mode: tier.mode, rates: withFallbacks(explicit) })
  }
  const perUnit = new Map<string, bigint>()
  for (const [name, text] of Object.entries(price.rubPerUnit))
    perUnit.set(name, parseDecimal(text) * 1_000_000n)
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
    // Above a threshold the order of the meters in the prompt matters too.
    cacheWrites: cacheWrites.filter(
      meter => mayCostMore(meter, 'input') || levels.some(({ mode }) => mode === 'excess'),
    ),
  }
}

/** The rates of a price; computed once per price object. */
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
