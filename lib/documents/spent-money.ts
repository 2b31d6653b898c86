import type { Kopecks } from '../money/kopecks.ts'

/** Money that came to an account, or went out again without being a charge, in the order in which it did. */
export interface MoneyMoved {
  /** `transfer:<id>:<revision>`, `payment:<id>`, `refund:<id>`, `credit:<key>`. */
  readonly id: string
  readonly at: number
  /** Negative: it went out. */
  readonly amount: Kopecks
  /** A starting credit was given, and not paid. */
  readonly isGift: boolean
  /** The money that went out again, where it is known which. */
  readonly refundOf?: string
}

/** Money that came in, as far as it was not taken back. */
export interface Lot extends MoneyMoved {
  /** What of it remained to be spent. */
  readonly net: Kopecks
}

/** A transfer's entries have the number of its revision behind its id. */
function sourceOf(id: string): string {
  return id.startsWith('transfer:') ? id.slice(0, id.lastIndexOf(':')) : id
}

/**
 * Money that came in, the oldest first. What was taken back is missing from what it was: of a transfer from the
 * transfer, of a payment from the payment, else from the newest money, since only what is not spent can be taken back.
 */
export function lotsOf(moved: readonly MoneyMoved[]): readonly Lot[] {
  const lots: (MoneyMoved & { net: Kopecks })[] = []
  for (const one of moved) {
    if (one.amount > 0) {
      lots.push({ ...one, net: one.amount })
      continue
    }
    let left = -one.amount
    const own = lots.filter(lot => lot.id === one.refundOf || sourceOf(lot.id) === sourceOf(one.id))
    for (const lot of [...own.toReversed(), ...lots.toReversed()]) {
      const taken = Math.min(lot.net, left)
      lot.net -= taken
      left -= taken
    }
  }
  return lots
}

/** What of each lot was spent between two sums of charges: money is spent in the order in which it came. */
export function spentBetween(
  lots: readonly Lot[],
  from: Kopecks,
  to: Kopecks,
): readonly { readonly lot: Lot; readonly amount: Kopecks }[] {
  let begin = 0
  return lots.flatMap(lot => {
    const end = begin + lot.net
    const amount = Math.min(end, to) - Math.max(begin, from)
    begin = end
    return amount > 0 ? [{ lot, amount }] : []
  })
}
