import type { TaxRate } from '../companies/seller.ts'
import type { Micros } from '../money/amount.ts'
import { roundToKopecks } from '../money/kopecks.ts'
import type { Kopecks } from '../money/kopecks.ts'

/**
 * What the document of a month is for: all charges up to its end, rounded once, less all that was documented before.
 * So the documents never differ from the ledger by more than half a kopeck, however many months there were. Not above
 * zero: there is nothing to document, and the rest goes to the next month.
 */
export function monthAmount(chargedUntilEnd: Micros, documentedBefore: Kopecks): Kopecks {
  return roundToKopecks(chargedUntilEnd) - documentedBefore
}

/** The value added tax within an amount, rounded half up to the kopeck. */
export function vatWithin(amount: Kopecks, rate: TaxRate): Kopecks {
  if (rate === 'none') return 0
  return Math.floor((2 * amount * rate + 100 + rate) / (2 * (100 + rate)))
}
