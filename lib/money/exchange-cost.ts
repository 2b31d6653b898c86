import { amountMicrosMax, type Micros } from './amount.ts'

/** The usual and the maximum cost of an exchange. `likely` <= `worst` <= `strict`. */
export interface ExchangeCost {
  readonly likelyMicros: Micros
  /** A streamed response counts as it becomes visible: a slice, and what can stay invisible. */
  readonly worstMicros: Micros
  /** Without assumptions: output to the cap, tools as often as they may be used. */
  readonly strictMicros: Micros
}

/** The larger of the two, amount by amount. */
export function maxOf(one: ExchangeCost, other: ExchangeCost): ExchangeCost {
  return {
    likelyMicros: Math.max(one.likelyMicros, other.likelyMicros),
    worstMicros: Math.max(one.worstMicros, other.worstMicros),
    strictMicros: Math.max(one.strictMicros, other.strictMicros),
  }
}

/** The sum of both, amount by amount. */
export function sumOf(left: ExchangeCost, right: ExchangeCost): ExchangeCost {
  const sum = (one: number, other: number): number => Math.min(amountMicrosMax, one + other)
  return {
    likelyMicros: sum(left.likelyMicros, right.likelyMicros),
    worstMicros: sum(left.worstMicros, right.worstMicros),
    strictMicros: sum(left.strictMicros, right.strictMicros),
  }
}
