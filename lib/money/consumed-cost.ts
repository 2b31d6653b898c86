import { amountMicrosMax, type Micros } from './amount.ts'
import { priceAtMost } from './price-line.ts'
import { type Price, type Decimal, rateUnit, ratesOf, unitRate, type Rates } from './price.ts'
import { addMeters, type Meter, type Meters, type UsageLine } from './usage.ts'
import { decimalUnit, parseDecimal } from './decimal.ts'

/** The expected usage of an exchange before its provider reports it. */
export interface Consumed {
  readonly read: Meters
  readonly outputTokens: number
  /** Units that the request states itself, such as images or characters, and its fees. */
  readonly units: Meters
  readonly variant?: string | undefined
  /** How long a cache may keep the input; undefined if nothing is written to a cache. */
  readonly cacheWrite?: '5m' | '1h' | undefined
  /** The requested service tier. */
  readonly wantedTier?: string | undefined
}

/** Fees billed by the piece, at a rate that only the response names. */
const feeMeters = ['searches', 'requests'] as const

/**
 * Tiers that no provider prices above the usual price. `auto` is the provider's choice, which may be more expensive.
 */
const plainTiers: ReadonlySet<string> = new Set([
  '',
  'default',
  'standard',
  'standard_only',
  'on_demand',
  'flex',
  'batch',
  'unspecified',
  // Requests for a place of processing are always served as requested.
  'us',
])

/**
 * The maximum cost, rounded up: with all output in the most expensive output meter, all input written to a cache if
 * possible, each fee at its highest, at the most expensive tier that may serve it.
 */
export function costAtMost(price: Price, consumed: Consumed): Micros {
  const rates = ratesOf(price)
  const variant = variantAtMost(rates, consumed)
  let highest = 0
  for (const read of waysToRead(price, inPricedMeter(rates, consumed.read), consumed.cacheWrite)) {
    for (const meter of rates.written)
      highest = Math.max(highest, priceAtMost(price, lineOf(consumed, { read, meter, variant })))
  }
  const tiered = timesFactorsAtMost(highest, price, consumed.wantedTier)
  return Math.min(amountMicrosMax, tiered + feesOf(rates, consumed.units))
}

/** The usual cost: the output is text, and nothing is written to a cache. */
export function costUsually(price: Price, consumed: Consumed): Micros {
  const rates = ratesOf(price)
  const { imageOutput, audioOutput, output } = rates.levels[0].rates
  const isDrawn = consumed.units.images !== undefined && imageOutput !== undefined
  const meter = isDrawn || (output === undefined && audioOutput === undefined) ? 'imageOutput' : 'output'
  const written = meter === 'output' && output === undefined ? 'audioOutput' : meter
  const read = inPricedMeter(rates, consumed.read)
  return Math.min(
    amountMicrosMax,
    priceAtMost(price, lineOf(consumed, { read, meter: written, variant: consumed.variant })) +
      feesOf(rates, consumed.units),
  )
}

interface LineOptions {
  readonly read: Meters
  /** The meter of the response's output. */
  readonly meter: Meter
  readonly variant: string | undefined
}

function lineOf({ outputTokens, units }: Consumed, { read, meter, variant }: LineOptions): UsageLine {
  const { searches: _searches, requests: _requests, ...others } = units
  const line = addMeters(read, others)
  // A count that a hostile request made invalid must not become a small hold.
  line[meter] = (line[meter] ?? 0) + Math.max(0, Math.ceil(outputTokens))
  return variant === undefined ? { meters: line } : { meters: line, variant }
}

/**
 * Without a size or a quality in the request the provider chooses them; one without a price costs as much as the most
 * expensive one.
 */
function variantAtMost(rates: Rates, { units, variant }: Consumed): string | undefined {
  const meter = units.images === undefined ? 'videoSeconds' : 'images'
  if (units[meter] === undefined) return variant
  if (variant !== undefined && isVariantPriced(rates, meter, variant)) return variant
  return mostExpensiveVariant(rates, meter) ?? variant
}

function isVariantPriced(rates: Rates, meter: Meter, variant: string): boolean {
  return rates.levels[0].rates[meter] !== undefined || unitRate(rates, meter, variant) !== undefined
}

/**
 * The most expensive size and quality with a price of its own; undefined if none costs more than the price without a
 * variant.
 */
export function mostExpensiveVariant(rates: Rates, meter: Meter): string | undefined {
  let highest: readonly [name: string, rate: bigint] | undefined
  for (const [name, rate] of rates.perUnit) {
    const isVariant = name.startsWith(`${meter}/`)
    if (isVariant && rate > (highest?.[1] ?? rates.perUnit.get(meter) ?? 0n)) highest = [name, rate]
  }
  return highest?.[0].slice(meter.length + 1)
}

function feesOf(rates: Rates, units: Meters): Micros {
  let micros = 0
  for (const meter of feeMeters) {
    const count = units[meter] ?? 0
    if (count === 0) continue
    let highest = rates.levels[0].rates[meter] ?? 0n
    for (const [name, rate] of rates.perUnit) {
      if ((name === meter || name.startsWith(`${meter}/`)) && rate > highest) highest = rate
    }
    if (highest === 0n) continue
    const cost =
      (BigInt(Math.ceil(Math.min(count, Number.MAX_SAFE_INTEGER))) * highest + rateUnit - 1n) / rateUnit
    micros += cost > BigInt(amountMicrosMax) ? amountMicrosMax : Number(cost)
  }
  return micros
}

/** Models that read no text have no price for it: then their highest price applies. */
function inPricedMeter(rates: Rates, read: Meters): Meters {
  const base = rates.levels[0].rates
  if (base.input !== undefined || read.input === undefined) return read
  const meter = (base.audioInput ?? 0n) > (base.imageInput ?? 0n) ? 'audioInput' : 'imageInput'
  const { input, ...others } = read
  return { ...others, [meter]: (others[meter] ?? 0) + input }
}

/** Either all input is written to a cache or none of it; each has its price. */
function waysToRead(price: Price, meters: Meters, cacheWrite: Consumed['cacheWrite']): readonly Meters[] {
  const { cacheWrites } = ratesOf(price)
  if (cacheWrite === undefined || cacheWrites.length === 0) return [meters]
  const { rubPerMillion } = price
  const ways = [meters]
  for (const term of cacheWrites) {
    if (term === 'cacheWrite1h' && cacheWrite === '5m') continue
    // Audio and images at the price of text are written like text.
    const { input = 0, audioInput = 0, imageInput = 0, ...others } = meters
    const ownAudio = rubPerMillion.audioInput === undefined ? 0 : audioInput
    const ownImage = rubPerMillion.imageInput === undefined ? 0 : imageInput
    const written = input + audioInput - ownAudio + imageInput - ownImage
    ways.push({ ...meters, input: 0, [term]: input })
    if (written > input) ways.push({ ...others, audioInput: ownAudio, imageInput: ownImage, [term]: written })
  }
  return ways
}

/** Whether a tier, by its name in prices, costs no more than the usual price. */
export function isPlainTier(name: string): boolean {
  return plainTiers.has(name)
}

/** The name of a tier in prices, by its requested name. */
export function tierName(asked: string): string {
  return asked.toLowerCase().replace(/^service_tier_/, '')
}

/**
 * The name of a tier's factor in a price; undefined if it has none. OpenAI's priority tier is also called fast.
 * https://openai.com/api-fast-mode/
 */
export function factorName(tier: string, factors: Price['factors']): string | undefined {
  if (factors[tier] !== undefined) return tier
  return tier === 'fast' && factors['priority'] !== undefined ? 'priority' : undefined
}

/**
 * The highest factor at which a request for a tier may be charged; undefined if it is at most 1. A tier may be served
 * under another name than the requested one, so a tier without a factor counts as the most expensive one.
 */
function factorAtMost({ factors }: Price, tier: string): Decimal | undefined {
  const name = tierName(tier)
  if (factors[name] === undefined && plainTiers.has(name)) return undefined
  const known = factors[name] === undefined ? Object.values(factors) : [factors[name]]
  let highest: Decimal | undefined
  let most = decimalUnit
  for (const factor of known) {
    const exact = parseDecimal(factor)
    if (exact > most) [highest, most] = [factor, exact]
  }
  return highest
}

/** An amount times the factors of all requested tiers: `fast+us`. */
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
