import type { Micros } from '../money/amount.ts'

/** Something that moved a balance and was no charge, in the order in which it came. */
export interface MoneyMoved {
  /** `payment:<id>`, `refund:<id>`, `credit:<key>`. */
  readonly id: string
  readonly kind: string
  readonly amountMicros: Micros
}

/** A payment as far as it is still the customer's: what was not returned. */
export interface PaidLot {
  readonly id: string
  readonly netMicros: Micros
}

const paymentPrefix = 'payment:'

/** A repayment is usage that was paid late, a correction usage that was paid and is not to be. */
export function isUsage({ kind }: Pick<MoneyMoved, 'kind'>): boolean {
  return kind === 'repayment' || kind === 'correction'
}

/** A refund is a part of its payment. */
function isNoLot({ id, kind }: MoneyMoved): boolean {
  return isUsage({ kind }) || id.startsWith('refund:') || id.startsWith('refund-canceled:')
}

/**
 * How much of each payment is used: money is spent in the order in which it came in. What the operator took out again
 * is taken from what did not come by payments first, the oldest first, and is no usage.
 * @param chargedMicros what was paid for usage
 */
export function usedByPayment(
  moved: readonly MoneyMoved[],
  payments: readonly PaidLot[],
  chargedMicros: Micros,
): ReadonlyMap<string, Micros> {
  const nets = new Map(payments.map(({ id, netMicros }) => [id, netMicros]))
  const lots = moved.filter(one => !isNoLot(one))
  let takenOut = lots.reduce((sum, { amountMicros }) => sum + Math.max(0, -amountMicros), 0)
  let rest = Math.max(0, chargedMicros)
  const used = new Map<string, Micros>()
  for (const { id, amountMicros } of lots) {
    if (amountMicros <= 0) continue
    const paymentId = id.startsWith(paymentPrefix) ? id.slice(paymentPrefix.length) : undefined
    const taken = paymentId === undefined ? Math.min(takenOut, amountMicros) : 0
    takenOut -= taken
    const net = paymentId === undefined ? amountMicros - taken : (nets.get(paymentId) ?? amountMicros)
    const usedMicros = Math.min(net, rest)
    rest -= usedMicros
    if (paymentId !== undefined) used.set(paymentId, usedMicros)
  }
  return used
}
