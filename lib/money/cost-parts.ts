import { unitRate } from './rates.ts'
import type { RateLevel, Rates } from './rates.ts'
import { meters } from './usage.ts'
import type { Meter, Meters, UsageLine } from './usage.ts'

/** Units of a line that have one rate. */
export interface CostPart {
  readonly meter: Meter
  readonly units: number
  /** As `Rates` have them; undefined without a price, and for units that are no count. */
  readonly rate: bigint | undefined
  /** The price is one of a unit, not of a million. */
  readonly isPerUnit: boolean
  /** The length of prompt above which the rate holds; -1 for the first. */
  readonly above: number
}

/** Units have six decimals. */
export const unitScale = 1_000_000n

/**
 * The prompt in the order it stands in a context: caches hold its beginning, so what lies above a
 * threshold is uncached text first.
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

/** Whether units can be charged: negative, absurdly many or no number cannot. */
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

/** A count that stands in a store or came by another way must not price anything at nothing. */
function sumOf(line: UsageLine): number {
  return Math.max(1, line.sumOf ?? 1)
}

/** The length of a line's prompt; of a sum of requests, that of one. */
export function promptLength(line: UsageLine): number {
  return promptTokens(line.meters) / sumOf(line)
}

/** The levels a prompt reaches, from the last `whole` one on: each prices what lies above its threshold. */
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
 * The units of one input meter, which stand in the prompt from `start` on, level by level. A sum of requests is
 * one prompt as long as all of theirs, with thresholds as far up.
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
    // A level whose prices are all found in another one has none of its own for the meter.
    const rate = level.rates[meter] ?? 0n
    if (to > from) parts.push({ meter, units: to - from, rate, isPerUnit: false, above: level.above })
  }
  return parts
}

/** A line in the parts that have one rate each: its exact cost is the sum of their units times rates. */
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
      // Output stands behind the whole prompt, so it lies above every threshold that the prompt reaches.
      parts.push({ meter, units, rate, isPerUnit: perUnit !== undefined, above: top.above })
    } else parts.push(...levelledParts(levels, meter, start, units, sumOf(line)))
    if (inputMeters.has(meter) && isCount(units)) start += units
  }
  return parts
}
