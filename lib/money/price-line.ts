import { amountMicrosMax, type Micros } from './amount.ts'
import { type Price, rateUnit, ratesOf, unitRate, type RateLevel, type Rates } from './price.ts'
import { type Meter, type UsageLine, meters, type Meters } from './usage.ts'

/** The cost of a line of usage. */
interface LineAmount {
  readonly amountMicros: Micros
  /** Meters with units but without a price: they are not charged. */
  readonly unpriced: readonly Meter[]
  /** A served tier without a factor: charged as standard. */
  readonly unpricedTier?: string
  /** Some units were negative, not numbers or implausibly many; they are not charged. */
  readonly isInvalid?: boolean
}

const standardTiers: ReadonlySet<string> = new Set(['standard', 'default'])

interface Found {
  readonly unpriced: Meter[]
  isInvalid: boolean
}

/** Units of a line with a single rate. */
export interface CostPart {
  readonly meter: Meter
  readonly units: number
  /** As in `Rates`; undefined without a price, and for invalid units. */
  readonly rate: bigint | undefined
  /** The price is for one unit, not for a million. */
  readonly isPerUnit: boolean
  /** The prompt length above which the rate applies; -1 for the first. */
  readonly above: number
}

/** Units have six decimals. */
const unitScale = 1_000_000n
/** The exact cost of a line is micro-roubles times this. */
const costScale = rateUnit * unitScale

/**
 * The prompt in the order of a context: caches contain its beginning, so the part above a threshold is uncached text
 * first.
 */
const inputOrder: readonly Meter[] = [
  'cachedInput',
  'cachedAudioInput',
  'cacheWrite1h',
  'cacheWrite5m',
  'imageInput',
  'audioInput',
  'input',
]
const inputMeters: ReadonlySet<Meter> = new Set(inputOrder)
const pricedInOrder: readonly Meter[] = [...inputOrder, ...meters.filter(meter => !inputMeters.has(meter))]

function rounded(value: bigint, scale: bigint, round: Price['round']): bigint {
  return (value + (round === 'up' ? scale - 1n : scale / 2n)) / scale
}

/**
 * The exact cost of a line times `costScale`, before any rounding. Meters without a price and invalid units are added
 * to `found`.
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
 * The cost of a line: the exact sum of units times prices, times the factor of the served tier, rounded once, as the
 * price says. Never negative, never NaN.
 */
export function priceLine(price: Price, line: UsageLine): LineAmount {
  const rates = ratesOf(price)
  const found: Found = { unpriced: [], isInvalid: false }
  let cost = exactCost(rates, line, found)
  let scale = costScale
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
  // No request costs a thousand million roubles: such a report is rejected.
  const isAbsurd = amount > amountMicrosMax
  return {
    amountMicros: isAbsurd ? 0 : Number(amount),
    unpriced: found.unpriced,
    ...(unpricedTier === undefined ? {} : { unpricedTier }),
    ...(found.isInvalid || isAbsurd ? { isInvalid: true } : {}),
  }
}

/**
 * The cost of expected usage: at the highest of the rates that apply to any prompt up to this length, rounded up.
 * Invalid usage costs the maximum amount, so that a hold for it is refused.
 */
export function priceAtMost(price: Price, line: UsageLine): Micros {
  const rates = ratesOf(price)
  const found: Found = { unpriced: [], isInvalid: false }
  const [first, ...others] = rates.levels
  const levels: [RateLevel, ...RateLevel[]] = [first]
  let highest = exactCost(others.length === 0 ? rates : { ...rates, levels }, line, found)
  for (const level of others) {
    if (promptLength(line) <= level.above) break
    levels.push(level)
    const cost = exactCost({ ...rates, levels }, line, found)
    if (cost > highest) highest = cost
  }
  const amount = rounded(highest, costScale, 'up')
  return found.isInvalid || amount > amountMicrosMax ? amountMicrosMax : Number(amount)
}

/** Whether units can be charged: negative, implausibly large or non-numeric units cannot. */
export function isCount(units: number): boolean {
  return units >= 0 && units <= Number.MAX_SAFE_INTEGER
}

/** Units times `unitScale`. */
export function scaledUnits(units: number): bigint {
  if (Number.isInteger(units)) return BigInt(units) * unitScale
  // toFixed rounds the exact value of the double; multiplying would add an error of its own.
  return BigInt(units.toFixed(6).replace('.', ''))
}

/** The length of a prompt: all input meters together. */
export function promptTokens(units: Readonly<Meters>): number {
  let tokens = 0
  for (const meter of inputOrder) {
    const count = units[meter]
    if (count !== undefined && isCount(count)) tokens += count
  }
  return tokens
}

/** A stored count, or one from another source, must not reduce any cost to zero. */
function sumOf(line: UsageLine): number {
  return Math.max(1, line.sumOf ?? 1)
}

/** The prompt length of a line; for a sum of requests, that of one request. */
function promptLength(line: UsageLine): number {
  return promptTokens(line.meters) / sumOf(line)
}

/** The levels that a prompt reaches, from the last `whole` one on: each prices the part above its threshold. */
function reachedLevels(rates: Rates, tokens: number): readonly RateLevel[] {
  const [first, ...others] = rates.levels
  let reached: RateLevel[] = [first]
  for (const level of others) {
    if (tokens <= level.above) break
    if (level.mode === 'whole') reached = [level]
    else reached.push(level)
  }
  return reached
}

/**
 * The units of one input meter, which begin at `start` in the prompt, level by level. A sum of requests counts as one
 * prompt of their total length, with thresholds multiplied by their number.
 */
function levelledParts(
  levels: readonly RateLevel[],
  meter: Meter,
  start: number,
  units: number,
  sumOf: number,
): CostPart[] {
  const parts: CostPart[] = []
  for (const [index, level] of levels.entries()) {
    const from = index === 0 ? start : Math.max(start, level.above * sumOf)
    const next = levels[index + 1]
    const to = Math.min(start + units, next === undefined ? Infinity : next.above * sumOf)
    // A meter that has a price only in other levels costs nothing in this one.
    const rate = level.rates[meter] ?? 0n
    if (to > from) parts.push({ meter, units: to - from, rate, isPerUnit: false, above: level.above })
  }
  return parts
}

/** A line in parts with one rate each: its exact cost is the sum of their units times rates. */
export function costParts(rates: Rates, line: UsageLine): CostPart[] {
  const levels = rates.levels.length === 1 ? rates.levels : reachedLevels(rates, promptLength(line))
  const top = levels[levels.length - 1] ?? rates.levels[0]
  const parts: CostPart[] = []
  let start = 0
  for (const meter of levels.length > 1 ? pricedInOrder : meters) {
    const units = line.meters[meter]
    if (units === undefined || units === 0) continue
    const perUnit = isCount(units) ? unitRate(rates, meter, line.variant) : undefined
    const rate = isCount(units) ? (perUnit ?? top.rates[meter]) : undefined
    if (levels.length === 1 || rate === undefined || perUnit !== undefined || !inputMeters.has(meter)) {
      // Output follows the whole prompt, so it is above every threshold that the prompt reaches.
      parts.push({ meter, units, rate, isPerUnit: perUnit !== undefined, above: top.above })
    } else parts.push(...levelledParts(levels, meter, start, units, sumOf(line)))
    if (inputMeters.has(meter) && isCount(units)) start += units
  }
  return parts
}
