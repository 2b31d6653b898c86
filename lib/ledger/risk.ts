import type { Micros } from '../money/amount.ts'

/** How far the worst cases of an account's open holds may go beyond its money. */
export interface RiskRule {
  /** For every account that has paid anything. */
  readonly baseMicros: Micros
  /** For each rouble that it has paid, in micro-roubles. */
  readonly perRoubleMicros: Micros
  readonly maxMicros: Micros
}

/** Nobody is trusted with anything: no worst case goes beyond the money there is. */
export const noRisk: RiskRule = { baseMicros: 0, perRoubleMicros: 0, maxMicros: 0 }

const microsPerRouble = 1_000_000

/**
 * What an account may come to cost the house: nothing before it has paid anything. In whole numbers, as
 * `risk_of` of PostgreSQL works it out too.
 */
export function riskOf(paidMicros: Micros, { baseMicros, perRoubleMicros, maxMicros }: RiskRule): Micros {
  if (paidMicros <= 0) return 0
  const roubles = Math.floor(paidMicros / microsPerRouble)
  const rest = paidMicros % microsPerRouble
  const ofPaidMicros = roubles * perRoubleMicros + Math.floor((rest * perRoubleMicros) / microsPerRouble)
  return Math.min(baseMicros + ofPaidMicros, maxMicros)
}
