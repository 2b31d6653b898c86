import type { BankDetails, CompanyDetails, Signer } from './company-details.ts'

/** What is owed to the state on a sale: nothing, or value added tax at a rate in percent. */
export type TaxRate = 'none' | 5 | 7 | 22

/** A rate from the first day of a month on. */
export interface TaxPeriod {
  /** `2026-01-01`, in Moscow. */
  readonly from: string
  readonly rate: TaxRate
  /** By which article no tax is owed; of `none` only. */
  readonly basis?: string
}

/** Who sells, as it stands on invoices and closing documents. */
export interface Seller extends CompanyDetails {
  readonly bank: BankDetails
  readonly signer: Signer
  /** Signs beside the head where there is one. */
  readonly accountant?: string
  /** Oldest first, at least one. */
  readonly tax: readonly TaxPeriod[]
  /** What stands before the numbers of the year. */
  readonly numbering: { readonly invoicePrefix: string; readonly documentPrefix: string }
  /** Working days within which an invoice is to be paid. */
  readonly payWithinDays: number
  /** An image of signature and stamp as a `data:` URL, PNG or JPEG; on a stored document the hash that it is kept by. */
  readonly facsimile?: string
}

/** The tax of a day, or undefined before the first period. */
export function taxOn(periods: readonly TaxPeriod[], day: string): TaxPeriod | undefined {
  return periods.findLast(period => period.from <= day)
}
