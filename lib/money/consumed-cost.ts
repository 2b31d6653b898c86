import { amountMicrosMax, type Micros } from './amount.ts'
import { priceAtMost } from './price-line.ts'
import { type Price, type Decimal, rateUnit, ratesOf, unitRate, type Rates } from './price.ts'
import { addMeters, type Meter, type Meters, type UsageLine } from './usage.ts'
import { decimalUnit, parseDecimal } from './decimal.ts'

/** What an exchange is taken to consume before its provider has said so. */
export interface Consumed {
  readonly read: Meters
  readonly outputTokens: number
  /** Units that the request names itself, such as images or characters, and the fees that come with it. */
  readonly units: Meters
  readonly variant?: string | undefined
  /** How long a cache may come to keep what is read; undefined where nothing is written to one. */
  readonly cacheWrite?: '5m' | '1h' | undefined
  /** The tier of service that is asked for. */
  readonly wantedTier?: string | undefined
}

/** What is billed for by the piece, at a rate that only the response names. */
const feeMeters = ['searches', 'requests'] as const

/** Tiers that nobody asks more for than the usual price. `auto` is the provider's choice, which may be more expensive. */
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
 * What it costs at most, rounded up: in the most expensive of the meters that the model writes in, all of what is read
 * written to a cache where it may be, each fee at its highest, at the most expensive tier that may serve it.
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

/** What it costs as a rule: text is written, and nothing to a cache. */
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
  /** That the response is written in. */
  readonly meter: Meter
  readonly variant: string | undefined
}

function lineOf({ outputTokens, units }: Consumed, { read, meter, variant }: LineOptions): UsageLine {
  const { searches: _searches, requests: _requests, ...others } = units
  const line = addMeters(read, others)
  // A count that a hostile request made impossible must not become a small hold.
  line[meter] = (line[meter] ?? 0) + Math.max(0, Math.ceil(outputTokens))
  return variant === undefined ? { meters: line } : { meters: line, variant }
}

/** Of what is asked for without a size or a quality, the provider chooses them; what has no price costs the most that has. */
function variantAtMost(rates: Rates, { units, variant }: Consumed): string | undefined {
  const meter = units.images === undefined ? 'videoSeconds' : 'images'
  if (units[meter] === undefined) return variant
  if (variant !== undefined && isVariantPriced(rates, meter, variant)) return variant
  return mostExpensiveVariant(rates, meter) ?? variant
}

function isVariantPriced(rates: Rates, meter: Meter, variant: string): boolean {
  return rates.levels[0].rates[meter] !== undefined || unitRate(rates, meter, variant) !== undefined
}

/** The most expensive size and quality that has a price of its own; undefined where none costs more than any. */
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

/** Models that take no text have no price for it: then the highest that they have. */
function inPricedMeter(rates: Rates, read: Meters): Meters {
  const base = rates.levels[0].rates
  if (base.input !== undefined || read.input === undefined) return read
  const meter = (base.audioInput ?? 0n) > (base.imageInput ?? 0n) ? 'audioInput' : 'imageInput'
  const { input, ...others } = read
  return { ...others, [meter]: (others[meter] ?? 0) + input }
}

/** All that is read may be written to a cache or none of it, at the prices of either. */
function waysToRead(price: Price, meters: Meters, cacheWrite: Consumed['cacheWrite']): readonly Meters[] {
  const { cacheWrites } = ratesOf(price)
  if (cacheWrite === undefined || cacheWrites.length === 0) return [meters]
  const { rubPerMillion } = price
  const ways = [meters]
  for (const term of cacheWrites) {
    if (term === 'cacheWrite1h' && cacheWrite === '5m') continue
    // Audio and images that cost what text does are written as text is.
    const { input = 0, audioInput = 0, imageInput = 0, ...others } = meters
    const ownAudio = rubPerMillion.audioInput === undefined ? 0 : audioInput
    const ownImage = rubPerMillion.imageInput === undefined ? 0 : imageInput
    const written = input + audioInput - ownAudio + imageInput - ownImage
    ways.push({ ...meters, input: 0, [term]: input })
    if (written > input) ways.push({ ...others, audioInput: ownAudio, imageInput: ownImage, [term]: written })
  }
  return ways
}

/** Whether a tier costs no more than the usual price, by its name in prices. */
export function isPlainTier(name: string): boolean {
  return plainTiers.has(name)
}

/** A tier as prices name it, by the name that it is asked for. */
export function tierName(asked: string): string {
  return asked.toLowerCase().replace(/^service_tier_/, '')
}

/**
 * The name that a tier's factor has in a price; undefined where it has none. OpenAI's priority tier is called fast as well.
 * https://openai.com/api-fast-mode/
 */
export function factorName(tier: string, factors: Price['factors']): string | undefined {
  if (factors[tier] !== undefined) return tier
  return tier === 'fast' && factors['priority'] !== undefined ? 'priority' : undefined
}

/**
 * The factor at which a request may come to be charged that asks for a tier; undefined where it is 1 at most. A
 * tier is served under other names than it is asked for, so one without a factor may be the most expensive there is.
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
