import { ReasonedError } from '../platform/reasoned-error.ts'
import type { CompanyDetails } from '../companies/company-details.ts'
import { taxOn, type Seller, type TaxPeriod } from '../companies/seller.ts'
import type { Kopecks } from '../money/kopecks.ts'
import { shortDay } from './print/printed-text.ts'
import { retryConflicts, type RecordReader } from '../stores/records/records.ts'
import type { CompanyVersion } from './company-versions.ts'
import { moscowDay } from '../ledger/moscow-days.ts'

/** One line of a document: what is sold. */
export interface DocumentLine {
  readonly name: string
  /** Tax included. */
  readonly amount: Kopecks
  /** The value added tax in it. */
  readonly vat: Kopecks
}

/** Seller, buyer and lines as of the document's day: later changes of details do not affect it. */
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
  /** The offer that the customer accepted; its number is that of the account. */
  readonly contract: Contract
}

/** The contract between seller and buyer. */
interface Contract {
  readonly name: string
  readonly number: string
  readonly date: string
}

/** An invoice: an offer to pay (счёт на оплату). */
export interface Invoice extends Sale {
  readonly kind: 'invoice'
  readonly payUntil: string
  /** The purpose for the payment order. */
  readonly purpose: string
}

/** The closing document of a month: an act when no tax is owed, else a universal transfer document. */
export interface ClosingDocument extends Sale {
  readonly kind: 'act' | 'upd'
  readonly from: string
  readonly to: string
  /** The payments it covers, oldest first. */
  readonly payments: readonly { readonly number: string; readonly date: string; readonly amount: Kopecks }[]
  /** Set for a correction, which replaces the document issued before under the same number. */
  readonly correction?: { readonly number: number; readonly date: string; readonly reason: string }
}

/**
 * A reconciliation statement (акт сверки): transactions between two companies over a period, by the seller's books.
 */
export interface ReconciliationStatement {
  readonly kind: 'reconciliation'
  readonly date: string
  readonly from: string
  readonly to: string
  readonly seller: Seller
  readonly buyer: CompanyDetails
  readonly contract: Contract
  /** The buyer's debt at the beginning; negative for a prepayment. */
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

/** Any document that can be printed. */
export type PrintedDocument = Invoice | ClosingDocument | ReconciliationStatement

/** The customary name of a document: «Счёт № 12 от 20.11.2026», «Акт № 5 от 30.11.2026, исправление 1». */
export function documentName(document: PrintedDocument): string {
  if (document.kind === 'reconciliation')
    return `Акт сверки ${shortDay(document.from)} – ${shortDay(document.to)}`
  const kind = { invoice: 'Счёт', act: 'Акт', upd: 'УПД' }[document.kind]
  const correction = document.kind === 'invoice' ? undefined : document.correction
  const corrected = correction === undefined ? '' : `, исправление ${correction.number}`
  return `${kind} № ${document.number} от ${shortDay(document.date)}${corrected}`
}

/** Why a request about companies, invoices, transfers or closing documents is refused. */
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

/** A refused request about companies, invoices, transfers or closing documents. */
export class DocumentError extends ReasonedError<(typeof documentCodes)[number]> {
  override readonly name = 'DocumentError'
}

const attemptsMax = 200
const waitMsMax = 20

/** Tables of documents with a numbering of the seller. */
interface Numbered {
  readonly table: 'invoices' | 'closing_documents'
  readonly seller: Seller
  readonly year: number
}

/**
 * Calls `take` with the seller's next number of a year, and retries while another process takes that number first, so
 * that the numbers have no gaps.
 * @throws RecordConflictError when every attempt loses
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

/** The offer, by the account that accepted it and the day on which the account became a company's. */
export function contractOf({ accountId, since }: CompanyVersion): Contract {
  return { name: 'Договор-оферта', number: accountId, date: moscowDay(since) }
}

/** The tax on a day. @throws DocumentError before the first period */
export function requiredTax(seller: Seller, day: string): TaxPeriod {
  const tax = taxOn(seller.tax, day)
  if (tax !== undefined) return tax
  throw new DocumentError(
    'tax_missing',
    `seller.tax says nothing of ${day}: add a period that begins before it`,
    { day },
  )
}
