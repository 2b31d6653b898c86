import { taxOn } from '../companies/seller.ts'
import type { Seller, TaxPeriod } from '../companies/seller.ts'
import type { CompanyVersion } from './company-book.ts'
import type { Contract } from './document.ts'
import { DocumentError } from './document-error.ts'
import { moscowDay } from '../ledger/moscow-days.ts'

/** The offer, by the account that agreed to it and the day on which that became a company's. */
export function contractOf({ accountId, since }: CompanyVersion): Contract {
  return { name: 'Договор-оферта', number: accountId, date: moscowDay(since) }
}

/** The tax of a day. @throws DocumentError before the first period */
export function requiredTax(seller: Seller, day: string): TaxPeriod {
  const tax = taxOn(seller.tax, day)
  if (tax !== undefined) return tax
  throw new DocumentError(`seller.tax says nothing of ${day}: add a period that begins before it`)
}
