import type { Outcome } from '../pipeline/exchange.ts'
import { type UsageReading, type Meter, type UsageLine, unitMeters } from '../money/usage.ts'
import { isWritten, isZero, namesInput } from '../dialects/measure.ts'
import { type Price, type Rates, ratesOf, workMeters, isPricedBySecond, unitRate } from '../money/price.ts'
import { factorName, mostExpensiveVariant } from '../money/consumed-cost.ts'

/**
 * Meters whose price replaces a missing one. Reading from a cache costs at most what plain input does, writing into
 * one at least that.
 */
const readAs: readonly (readonly [meter: Meter, others: readonly Meter[]])[] = [
  ['cacheWrite1h', ['cacheWrite5m', 'input']],
  ['cacheWrite5m', ['input']],
  ['cachedInput', ['input']],
]

interface PayableUsage {
  readonly usage: UsageLine
  /** The provider may charge more than this line costs: a meter has no price of its own. */
  readonly isShort: boolean
}

/**
 * Usage in meters that have a price: cached input without a price is charged as input, and a size or quality without
 * one as the most expensive that has one. Otherwise such usage would be free.
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
 * Charges usage that is reported in two meters once: speech by its tokens and audio input by its seconds, where those
 * have a price, and otherwise by its characters and its tokens.
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

/** How work that was requested from a provider ended, as far as money depends on it. */
export interface Ending {
  readonly outcome: Outcome['kind']
  /** All of the request was sent: the provider may do, and bill, all of the work. */
  readonly wasSent: boolean
  /**
   * `provider`: it refused, with a status of its own. `gateway`: it cut the response since no money was left for it.
   */
  readonly endedBy?: 'provider' | 'gateway'
  /** What the request creates may go on under an id that is not known. */
  readonly mayGoOn?: boolean
  /** How the drain for the usage went, after the client had left. */
  readonly drain: 'none' | 'reading' | 'limited' | 'refused'
  /** What was read of a successful response. */
  readonly reading?: Pick<UsageReading, 'lines' | 'isTerminal' | 'hasError' | 'hasOutput'> | undefined
  /** Text arrived, and its provider's count of it could not be read. */
  readonly isUncounted?: boolean
  /** The output was counted, but not the input. */
  readonly isReadUncounted?: boolean
  /** A successful response arrived that could not be read, such as one in an unknown encoding. */
  readonly isUnreadable?: boolean
}

/** The end of work whose request was sent. */
export type SentEnding = Ending & { readonly wasSent: true }

/** The basis of the charge. */
export type Owed =
  /** Nothing was sent: the hold is released without a charge. */
  | { readonly basis: 'nothing' }
  /** A charge of 0.00: what was sent can be found when the provider's bill arrives. */
  | { readonly basis: 'zero'; readonly flags: readonly string[] }
  /** The provider's own numbers. */
  | { readonly basis: 'reported'; readonly source: 'provider' | 'drained'; readonly flags: readonly string[] }
  /** What was reported, and an estimate of the rest; without a report, an estimate of the request, too. */
  | {
      readonly basis: 'estimated'
      readonly flags: readonly string[]
      /**
       * The client left or the gateway cut the response, so that output that was generated and not shown counts too.
       */
      readonly hasUnseen: boolean
    }

const nothing: Owed = { basis: 'nothing' }
const zero = (...flags: readonly string[]): Owed => ({ basis: 'zero', flags })

/**
 * The one rule of what is owed: for requests, for turns of sessions and for jobs. Whatever was sent leaves a charge, if
 * only of 0.00.
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
  if (reading.isTerminal || outcome === 'completed') return unreported(reading)
  // The provider worked until the gateway cut the response, if only with tools.
  if (outcome === 'broken' && !reading.hasOutput && endedBy !== 'gateway') return zero('ambiguous')
  const isTold = reading.hasOutput || reading.lines.length > 0
  const isLeft = outcome === 'aborted' || endedBy === 'gateway'
  return {
    basis: 'estimated',
    flags: [...(isTold ? [] : ['ambiguous']), ...drainFlags(ending)],
    hasUnseen: isLeft,
  }
}

/** Whether a response that failed in the end has a usage of unseen output: thoughts, and calls of tools. */
function isBilled({ lines, isTerminal }: NonNullable<Ending['reading']>): boolean {
  return isTerminal && isWritten(lines)
}

/** A successful response whose bytes cannot be read, or work whose end was not observed. */
function unread({ wasSent, isUnreadable }: Ending): Owed {
  if (isUnreadable === true) return { basis: 'estimated', flags: ['usage_unreadable'], hasUnseen: true }
  return wasSent ? zero('ambiguous') : nothing
}

/**
 * No part of a response reached the client. A response that the gateway cut counts all the same once it has begun: its
 * head may have waited for the hold to be on disk.
 */
function isUnanswered({ outcome, reading, endedBy }: Ending): boolean {
  if (outcome === 'refused') return endedBy !== 'gateway' || reading === undefined
  return outcome === 'aborted' && reading === undefined
}

/** Sent, and no response arrived or reached the client: the provider may have worked on it. */
function unanswered({ outcome, mayGoOn, drain }: Ending): Owed {
  if (outcome === 'refused' || mayGoOn === true) return zero('ambiguous')
  return { basis: 'estimated', flags: ['ambiguous', ...drainFlags({ drain })], hasUnseen: true }
}

/** The response is complete, or its provider ended it, but it lacks its last usage. */
function unreported(reading: NonNullable<Ending['reading']>): Owed {
  if (!reading.hasOutput && reading.lines.length === 0) return zero('usage_missing')
  const flags = reading.lines.length === 0 ? ['usage_missing'] : []
  return { basis: 'estimated', flags, hasUnseen: false }
}

function drainFlags({ drain }: Pick<Ending, 'drain'>): readonly string[] {
  if (drain === 'limited') return ['drain_limited']
  return drain === 'refused' ? ['drain_refused'] : []
}

/**
 * Drops a reported usage that nothing can be charged by: zeros although output arrived, or meters without a price where
 * the work is priced by others. Its text and units are counted here then.
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

/** Whether text arrived of which its provider has counted nothing. */
export function isUncounted(
  { flags, lines, outputTextBytes, unmeteredTextBytes, isTerminal }: UsageReading,
  mainMeter: Meter,
): boolean {
  if (outputTextBytes === 0) return false
  // The only usage is that of the event that opened the response, which knows only how the output began.
  if (isTerminal && unmeteredTextBytes > 0 && flags.includes('usage_partial')) return true
  if (flags.includes('usage_invalid') && (lines[0]?.meters.output ?? 0) === 0) return true
  return mainMeter === 'output' && isTerminal && lines.length > 0 && !isWritten(lines)
}

/** Whether a complete text was counted, but not its input. */
export function isReadUncounted({ lines: [line], isTerminal }: UsageReading, mainMeter: Meter): boolean {
  return mainMeter === 'output' && isTerminal && line !== undefined && !namesInput(line)
}

/** The work is reported in meters of which none has a price. Only the request says what it costs in others. */
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
