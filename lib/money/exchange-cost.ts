import type { Micros } from './amount.ts'

/** What an exchange costs: as such exchanges usually do, and at most. `likely` <= `worst` <= `strict`. */
export interface ExchangeCost {
  readonly likelyMicros: Micros
  /** With a streamed response counted as it is seen: a slice, and what can stay unseen. */
  readonly worstMicros: Micros
  /** With nothing taken on trust: output to the cap, tools as often as they may be used. */
  readonly strictMicros: Micros
}
