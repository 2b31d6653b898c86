import { ReasonedError } from '../platform/reasoned-error.ts'
import type { CompanyDetails } from '../companies/company-details.ts'
import { taxOn, type Seller, type TaxPeriod } from '../companies/seller.ts'
import type { Kopecks } from '../money/kopecks.ts'
import { shortDay } from './print/printed-text.ts'
import { retryConflicts, type RecordReader } from '../stores/records/records.ts'
import type { CompanyVersion } from './company-versions.ts'
import { moscowDay } from '../ledger/moscow-days.ts'

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
interface Contract {
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

/** How people call a document: «Счёт № 12 от 20.11.2026», «Акт № 5 от 30.11.2026, исправление 1». */
export function documentName(document: PrintedDocument): string {
  if (document.kind === 'reconciliation')
    return `Акт сверки ${shortDay(document.from)} – ${shortDay(document.to)}`
  const kind = { invoice: 'Счёт', act: 'Акт', upd: 'УПД' }[document.kind]
  const correction = document.kind === 'invoice' ? undefined : document.correction
  const corrected = correction === undefined ? '' : `, исправление ${correction.number}`
  return `${kind} № ${document.number} от ${shortDay(document.date)}${corrected}`
}

/** Why what was asked of companies, invoices, transfers or closing documents cannot be done. */
export const documentCodes = [
  'company_missing',
  'company_wrong',
  'days_swapped',
  'document_not_found',
  'image_missing',
  'invoice_amount',
  'invoice_not_found',
  'invoice_of_another',
  'month_invalid',
  'month_not_begun',
  'reason_unprintable',
  'seller_other',
  'tax_missing',
  'transfer_ambiguous',
  'transfer_changed',
  'transfer_decided',
  'transfer_not_found',
  'transfer_queued',
] as const

/** What was asked of companies, invoices, transfers or closing documents cannot be done. */
export class DocumentError extends ReasonedError<(typeof documentCodes)[number]> {
  override readonly name = 'DocumentError'
}

const attemptsMax = 200
const waitMsMax = 20

/** Documents that a seller numbers together. */
interface Numbered {
  readonly table: 'invoices' | 'closing_documents'
  readonly seller: Seller
  readonly year: number
}

/**
 * Runs what takes a seller's next number of a year until no one else has taken it first, so that numbers have no gap.
 * @throws RecordConflictError when others were faster all the time
 */
export async function withNextNumber<T>(
  records: RecordReader,
  { table, seller, year }: Numbered,
  take: (number: number) => Promise<T>,
): Promise<T> {
  const query = records.build
    .selectFrom(table)
    .select(one => one.fn.max('number').as('last'))
    .where('seller_inn', '=', seller.inn)
    .where('year', '=', year)
  return retryConflicts(
    attemptsMax,
    async () => {
      const [row] = await records.all(query)
      return take((row?.last ?? 0) + 1)
    },
    waitMsMax,
  )
}

/** The offer, by the account that agreed to it and the day on which that became a company's. */
export function contractOf({ accountId, since }: CompanyVersion): Contract {
  return { name: 'Договор-оферта', number: accountId, date: moscowDay(since) }
}

/** The tax of a day. @throws DocumentError before the first period */
export function requiredTax(seller: Seller, day: string): TaxPeriod {
  const tax = taxOn(seller.tax, day)
  if (tax !== undefined) return tax
  throw new DocumentError(
    'tax_missing',
    `seller.tax says nothing of ${day}: add a period that begins before it`,
    { day },
  )
}
