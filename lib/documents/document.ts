import type { CompanyDetails } from '../companies/company-details.ts'
import type { Seller, TaxPeriod } from '../companies/seller.ts'
import type { Kopecks } from '../money/kopecks.ts'

/** What is sold: one line of a document. */
export interface DocumentLine {
  readonly name: string
  /** With the tax in it. */
  readonly amount: Kopecks
  /** What of it is value added tax. */
  readonly vat: Kopecks
}

/** Seller, buyer and lines as they were on the day of the document: later changes of details do not touch it. */
interface Sale {
  readonly number: string
  /** ISO day in Moscow. */
  readonly date: string
  readonly seller: Seller
  readonly buyer: CompanyDetails
  readonly tax: TaxPeriod
  readonly lines: readonly DocumentLine[]
  readonly amount: Kopecks
  readonly vat: Kopecks
  /** The offer that the customer agreed to, by the number of its account. */
  readonly contract: Contract
}

/** By what the seller serves the buyer. */
export interface Contract {
  readonly name: string
  readonly number: string
  readonly date: string
}

/** An invoice: an offer to pay (счёт на оплату). */
export interface Invoice extends Sale {
  readonly kind: 'invoice'
  readonly payUntil: string
  /** What the payment order is to say. */
  readonly purpose: string
}

/** What closes a month: an act where no tax is owed, else a universal transfer document. */
export interface ClosingDocument extends Sale {
  readonly kind: 'act' | 'upd'
  readonly from: string
  readonly to: string
  /** Payments that it is for, oldest first. */
  readonly payments: readonly { readonly number: string; readonly date: string; readonly amount: Kopecks }[]
  /** It takes the place of what was issued under the same number. */
  readonly correction?: { readonly number: number; readonly date: string; readonly reason: string }
}

/** What passed between two companies over some days (акт сверки), by the seller's books. */
export interface ReconciliationStatement {
  readonly kind: 'reconciliation'
  readonly date: string
  readonly from: string
  readonly to: string
  readonly seller: Seller
  readonly buyer: CompanyDetails
  readonly contract: Contract
  /** What the buyer owed at the beginning; negative: what it had paid ahead. */
  readonly opening: Kopecks
  readonly rows: readonly ReconciliationRow[]
}

/** A sale is a debit of the buyer, a payment a credit. */
export interface ReconciliationRow {
  readonly date: string
  readonly name: string
  readonly debit: Kopecks
  readonly credit: Kopecks
}

/** Whatever is printed. */
export type PrintedDocument = Invoice | ClosingDocument | ReconciliationStatement
