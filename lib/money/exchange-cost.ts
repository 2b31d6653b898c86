import { amountMicrosMax, type Micros } from './amount.ts'

/** What an exchange costs: as such exchanges usually do, and at most. `likely` <= `worst` <= `strict`. */
export interface ExchangeCost {
  readonly likelyMicros: Micros
  /** With a streamed response counted as it is seen: a slice, and what can stay unseen. */
  readonly worstMicros: Micros
  /** With nothing taken on trust: output to the cap, tools as often as they may be used. */
  readonly strictMicros: Micros
}

/** The larger of each amount. */
export function maxOf(one: ExchangeCost, other: ExchangeCost): ExchangeCost {
  return {
    likelyMicros: Math.max(one.likelyMicros, other.likelyMicros),
    worstMicros: Math.max(one.worstMicros, other.worstMicros),
    strictMicros: Math.max(one.strictMicros, other.strictMicros),
  }
}

/** Both together. */
export function sumOf(left: ExchangeCost, right: ExchangeCost): ExchangeCost {
  const sum = (one: number, other: number): number => Math.min(amountMicrosMax, one + other)
  return {
    likelyMicros: sum(left.likelyMicros, right.likelyMicros),
    worstMicros: sum(left.worstMicros, right.worstMicros),
    strictMicros: sum(left.strictMicros, right.strictMicros),
  }
}
