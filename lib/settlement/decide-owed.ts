import type { Outcome } from '../pipeline/exchange.ts'
import { type UsageReading, type Meter, type UsageLine, unitMeters } from '../money/usage.ts'
import { isWritten, isZero, namesInput } from '../dialects/measure.ts'
import { type Price, type Rates, ratesOf, workMeters, isPricedBySecond, unitRate } from '../money/price.ts'
import { factorName, mostExpensiveVariant } from '../money/consumed-cost.ts'

/** What is read costs at least what plain text does: from a cache at most that, into one at least. */
const readAs: readonly (readonly [meter: Meter, others: readonly Meter[]])[] = [
  ['cacheWrite1h', ['cacheWrite5m', 'input']],
  ['cacheWrite5m', ['input']],
  ['cachedInput', ['input']],
]

interface PayableUsage {
  readonly usage: UsageLine
  /** Something may cost its provider more than is charged here: it has no price of its own. */
  readonly isShort: boolean
}

/**
 * Usage in meters that its price has: what is read by way of a cache is charged as input where the cache has no price, and
 * what comes in a size or quality without one as the most expensive that has. Else any such use would be free.
 */
export function payableUsage(told: UsageLine, price: Price): PayableUsage {
  const usage = inNamedTier(paidOnce(told, price), price)
  const rates = ratesOf(price)
  const meters = { ...usage.meters }
  let isShort = false
  for (const [meter, others] of readAs) {
    const units = meters[meter]
    if (units === undefined || !(units > 0) || isTokenPriced(rates, meter)) continue
    const other = others.find(one => isTokenPriced(rates, one))
    if (other === undefined) continue
    isShort ||= meter !== 'cachedInput'
    meters[other] = (meters[other] ?? 0) + units
    delete meters[meter]
  }
  const variant = payableVariant(usage, rates)
  if (variant === usage.variant) return { usage: { ...usage, meters }, isShort }
  return { usage: { ...usage, meters, ...(variant !== undefined && { variant }) }, isShort: true }
}

/**
 * What is told in two ways is paid for once: speech by its tokens and what is heard by its seconds, where those have a
 * price, and else by its characters and its tokens.
 */
function paidOnce(usage: UsageLine, price: Price): UsageLine {
  const meters = { ...usage.meters }
  if (meters.characters !== undefined && meters.audioOutput !== undefined) {
    if (isTokenPriced(ratesOf(price), 'audioOutput')) delete meters.characters
    else {
      delete meters.audioOutput
      delete meters.input
    }
  }
  if (meters.audioSeconds !== undefined && meters.audioInput !== undefined)
    delete meters[isPricedBySecond(price) ? 'audioInput' : 'audioSeconds']
  return { ...usage, meters }
}

function inNamedTier(usage: UsageLine, { factors }: Price): UsageLine {
  const { tier } = usage
  if (tier === undefined) return usage
  return {
    ...usage,
    tier: tier
      .split('+')
      .map(name => factorName(name, factors) ?? name)
      .join('+'),
  }
}

function isTokenPriced({ levels }: Rates, meter: Meter): boolean {
  return levels.some(({ rates }) => rates[meter] !== undefined)
}

function payableVariant({ meters, variant }: UsageLine, rates: Rates): string | undefined {
  for (const meter of unitMeters) {
    if (!((meters[meter] ?? 0) > 0) || rates.levels[0].rates[meter] !== undefined) continue
    if (unitRate(rates, meter, variant) !== undefined) continue
    const highest = mostExpensiveVariant(rates, meter)
    if (highest !== undefined) return highest
  }
  return variant
}

/** How work that was asked of a provider ended, as far as money depends on it. */
export interface Ending {
  readonly outcome: Outcome['kind']
  /** All of the request was sent: the provider may do, and bill, all of the work. */
  readonly wasSent: boolean
  /** `provider`: it said no, by a status of its own. `gateway`: the response was cut since no money was left for it. */
  readonly endedBy?: 'provider' | 'gateway'
  /** What is made by the request may go on under a name that nobody knows. */
  readonly mayGoOn?: boolean
  /** How reading on for the usage went, once the client had left. */
  readonly drain: 'none' | 'reading' | 'limited' | 'refused'
  /** What was read of a success. */
  readonly reading?: Pick<UsageReading, 'lines' | 'isTerminal' | 'hasError' | 'hasOutput'> | undefined
  /** Text came, and its provider's count of it could not be read. */
  readonly isUncounted?: boolean
  /** Text was counted, and not what was read for it. */
  readonly isReadUncounted?: boolean
  /** A success came that nobody could read, such as one in an unknown encoding. */
  readonly isUnreadable?: boolean
}

/** Of work whose request was sent. */
export type SentEnding = Ending & { readonly wasSent: true }

/** What the charge is made of. */
export type Owed =
  /** Nothing was sent: the hold is released, and no charge made. */
  | { readonly basis: 'nothing' }
  /** A charge of 0.00: what was sent can be found when the provider's bill comes. */
  | { readonly basis: 'zero'; readonly flags: readonly string[] }
  /** The provider's own numbers. */
  | { readonly basis: 'reported'; readonly source: 'provider' | 'drained'; readonly flags: readonly string[] }
  /** What was reported, and beyond it an estimate; without a report, of the request too. */
  | {
      readonly basis: 'estimated'
      readonly flags: readonly string[]
      /** The response was left or cut by us, so that what was generated and not shown counts too. */
      readonly hasUnseen: boolean
    }

const nothing: Owed = { basis: 'nothing' }
const zero = (...flags: readonly string[]): Owed => ({ basis: 'zero', flags })

/**
 * The one rule of what is owed: for requests, for turns of sessions and for jobs. Whatever was sent leaves a
 * charge, if only of 0.00.
 */
export function decideOwed(ending: Ending): Owed {
  const { outcome, reading, endedBy, isUnreadable } = ending
  if (endedBy === 'provider') return zero('provider_refused')
  if (isUnanswered(ending)) return ending.wasSent ? unanswered(ending) : nothing
  if (reading === undefined) return unread(ending)
  if (reading.hasError && !reading.hasOutput && !isBilled(reading)) return zero('provider_error')
  if (ending.isUncounted === true) return { basis: 'estimated', flags: [], hasUnseen: true }
  if (ending.isReadUncounted === true) return { basis: 'estimated', flags: [], hasUnseen: false }
  if (reading.lines.length > 0 && (reading.isTerminal || (outcome === 'completed' && reading.hasError)))
    return { basis: 'reported', source: ending.drain === 'reading' ? 'drained' : 'provider', flags: [] }
  if (isUnreadable === true) return unread(ending)
  if (reading.isTerminal || outcome === 'completed') return untold(reading)
  // One that the gateway cut was worked on until then, if only by tools.
  if (outcome === 'broken' && !reading.hasOutput && endedBy !== 'gateway') return zero('ambiguous')
  const isTold = reading.hasOutput || reading.lines.length > 0
  const isLeft = outcome === 'aborted' || endedBy === 'gateway'
  return {
    basis: 'estimated',
    flags: [...(isTold ? [] : ['ambiguous']), ...drainFlags(ending)],
    hasUnseen: isLeft,
  }
}

/** What failed in the end, and has a usage of what it wrote unseen: thoughts, and calls of tools. */
function isBilled({ lines, isTerminal }: NonNullable<Ending['reading']>): boolean {
  return isTerminal && isWritten(lines)
}

/** A success in bytes that say nothing to us; or the end of something that nobody saw. */
function unread({ wasSent, isUnreadable }: Ending): Owed {
  if (isUnreadable === true) return { basis: 'estimated', flags: ['usage_unreadable'], hasUnseen: true }
  return wasSent ? zero('ambiguous') : nothing
}

/**
 * Nothing of a response reached the client. One that the gateway cut counts all the same where it has begun: its head may
 * have waited for the hold to be on the disk.
 */
function isUnanswered({ outcome, reading, endedBy }: Ending): boolean {
  if (outcome === 'refused') return endedBy !== 'gateway' || reading === undefined
  return outcome === 'aborted' && reading === undefined
}

/** Sent, and no response came or reached the client: the provider may have worked on it. */
function unanswered({ outcome, mayGoOn, drain }: Ending): Owed {
  if (outcome === 'refused' || mayGoOn === true) return zero('ambiguous')
  return { basis: 'estimated', flags: ['ambiguous', ...drainFlags({ drain })], hasUnseen: true }
}

/** The response is whole, or its provider ended it, and its last usage is not in it. */
function untold(reading: NonNullable<Ending['reading']>): Owed {
  if (!reading.hasOutput && reading.lines.length === 0) return zero('usage_missing')
  const flags = reading.lines.length === 0 ? ['usage_missing'] : []
  return { basis: 'estimated', flags, hasUnseen: false }
}

function drainFlags({ drain }: Pick<Ending, 'drain'>): readonly string[] {
  if (drain === 'limited') return ['drain_limited']
  return drain === 'refused' ? ['drain_refused'] : []
}

/**
 * What was read of a response without a usage that nothing can be charged by: one of zeros for what came, or one in
 * meters that have no price where the work is paid for in others. Its text and units are counted here then.
 * @param mainMeter what the operation mainly consumes
 */
export function chargeableReading(
  reading: UsageReading | undefined,
  mainMeter: Meter,
  price: Price,
): UsageReading | undefined {
  if (reading === undefined || reading.hasError) return reading
  const { lines, outputTextBytes } = reading
  const isOfTokens = mainMeter === 'output' || mainMeter === 'input'
  const isOfNothing = isOfTokens && reading.hasOutput && isZero(lines)
  if (!isOfNothing && !isUnpaid(lines, mainMeter, price)) return reading
  return { ...reading, lines: [], unmeteredTextBytes: outputTextBytes }
}

/** Whether text came of which its provider has counted nothing. */
export function isUncounted(
  { flags, lines, outputTextBytes, unmeteredTextBytes, isTerminal }: UsageReading,
  mainMeter: Meter,
): boolean {
  if (outputTextBytes === 0) return false
  // What opened the answer is its only usage, and knows of the output only how it began.
  if (isTerminal && unmeteredTextBytes > 0 && flags.includes('usage_partial')) return true
  if (flags.includes('usage_invalid') && (lines[0]?.meters.output ?? 0) === 0) return true
  return mainMeter === 'output' && isTerminal && lines.length > 0 && !isWritten(lines)
}

/** Whether a whole text was counted, and not what was read for it. */
export function isReadUncounted({ lines: [line], isTerminal }: UsageReading, mainMeter: Meter): boolean {
  return mainMeter === 'output' && isTerminal && line !== undefined && !namesInput(line)
}

/** The work is told in meters of which none has a price. What it costs in others only its request says. */
function isUnpaid(lines: readonly UsageLine[], mainMeter: Meter, price: Price): boolean {
  let isTold = false
  for (const meter of workMeters(mainMeter)) {
    for (const { meters } of lines) {
      if (!((meters[meter] ?? 0) > 0)) continue
      if (hasRate(ratesOf(price), meter)) return false
      isTold = true
    }
  }
  return isTold
}

function hasRate({ levels, perUnit }: Rates, meter: Meter): boolean {
  for (const { rates } of levels) if (rates[meter] !== undefined) return true
  for (const name of perUnit.keys()) if (name === meter || name.startsWith(`${meter}/`)) return true
  return false
}
