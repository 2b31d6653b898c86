import { parseDecimal } from '../money/decimal.ts'
import type { Decimal } from '../money/price.ts'

/** By what factor a price may rise or fall at once. Providers have cut prices to a fifth. */
const factorMax = 10n

/** Whether a price differs from the one before so much that it is taken for a mistake. */
export function isPriceJump(before: Decimal, after: Decimal): boolean {
  const [left, right] = [parseDecimal(before), parseDecimal(after)]
  // What was free may get a price; what has one does not become free.
  return left > 0n && (right > left * factorMax || right * factorMax < left)
}
