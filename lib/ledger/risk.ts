import type { HeldSums, HoldRequest, Micros } from './ledger.ts'

/** How far the worst cases of an account's open holds may go beyond its money. */
export interface RiskRule {
  /** For every account that has paid anything. */
  readonly baseMicros: Micros
  /** For each rouble that it has paid, in micro-roubles. */
  readonly perRoubleMicros: Micros
  readonly maxMicros: Micros
}

/** No account is trusted: no worst case may exceed its money. */
export const noRisk: RiskRule = { baseMicros: 0, perRoubleMicros: 0, maxMicros: 0 }

const microsPerRouble = 1_000_000

/**
 * How much an account may cost the house: nothing before it has paid anything. In integers, like PostgreSQL's
 * `risk_of`.
 */
export function riskOf(paidMicros: Micros, { baseMicros, perRoubleMicros, maxMicros }: RiskRule): Micros {
  if (paidMicros <= 0) return 0
  const roubles = Math.floor(paidMicros / microsPerRouble)
  const rest = paidMicros % microsPerRouble
  const ofPaidMicros = roubles * perRoubleMicros + Math.floor((rest * perRoubleMicros) / microsPerRouble)
  return Math.min(baseMicros + ofPaidMicros, maxMicros)
}

/**
 * Checks that the sums of a hold are amounts, none lower than the one before it.
 * @throws RangeError when they are not
 */
export function checkSums({
  likelyMicros,
  worstMicros,
  strictMicros = worstMicros,
}: HeldSums & Pick<HoldRequest, 'strictMicros'>): void {
  const areAmounts =
    Number.isSafeInteger(likelyMicros) &&
    Number.isSafeInteger(worstMicros) &&
    Number.isSafeInteger(strictMicros)
  if (areAmounts && likelyMicros >= 0 && worstMicros >= likelyMicros && strictMicros >= worstMicros) return
  throw new RangeError(
    `a hold of ${likelyMicros} micro-roubles, ${worstMicros} at worst and ${strictMicros} without trust ` +
      'cannot be placed',
  )
}

/** The worst sum that counts for an account: without risk nothing is trusted, and the strict one counts. */
export function countedWorst(
  sums: Pick<HoldRequest, 'worstMicros' | 'strictMicros'>,
  riskMicros: Micros,
): Micros {
  const { worstMicros, strictMicros = worstMicros } = sums
  return riskMicros === 0 ? strictMicros : worstMicros
}
