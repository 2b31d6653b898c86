import type { HeldSums, HoldRequest, Micros } from './ledger.ts'

/**
 * Makes sure that the sums of a hold are amounts, none lower than the one before it.
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

/** The worst that counts for an account: nothing of one that has no risk is taken on trust. */
export function countedWorst(
  sums: Pick<HoldRequest, 'worstMicros' | 'strictMicros'>,
  riskMicros: Micros,
): Micros {
  const { worstMicros, strictMicros = worstMicros } = sums
  return riskMicros === 0 ? strictMicros : worstMicros
}
