import { formatRoubles } from '../money/amount.ts'
import type { Balance } from './ledger.ts'

/** A balance in roubles, as commands and the own endpoint show it. */
export function balanceAmounts(balance: Balance) {
  return {
    balance: formatRoubles(balance.balanceMicros),
    debt: formatRoubles(balance.debtMicros),
    held: formatRoubles(balance.heldMicros),
    available: formatRoubles(balance.availableMicros),
    worst: formatRoubles(balance.worstMicros),
    risk: formatRoubles(balance.riskMicros),
    paid: formatRoubles(balance.paidMicros),
  }
}
