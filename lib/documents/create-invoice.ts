import { randomBytes } from 'node:crypto'
import type { Seller } from '../companies/seller.ts'
import type { Kopecks } from '../money/kopecks.ts'
import { newId } from '../platform/new-id.ts'
import type { InvoiceRow } from '../stores/records/document-tables.ts'
import type { RecordReader, Records } from '../stores/records/records.ts'
import { vatWithin } from './arithmetic.ts'
import { CompanyBook } from './company-book.ts'
import type { CompanyVersion } from './company-book.ts'
import type { Invoice } from './document.ts'
import { DocumentError } from './document-error.ts'
import { documentEmailStep } from './document-emails.ts'
import { keepFacsimile } from './facsimile.ts'
import { addWorkingDays, moscowDay } from '../ledger/moscow-days.ts'
import { withNextNumber } from './next-number.ts'
import { printedAmount, shortDay } from './print/printed-text.ts'
import { contractOf, requiredTax } from './terms-of-sale.ts'

/** A new invoice. */
interface NewInvoice {
  readonly accountId: string
  readonly amount: Kopecks
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Made before the form was shown: the same form again makes no second invoice. */
  readonly id?: string
  /** False: whoever makes it sends it. */
  readonly isEmailed?: boolean
}

/** An invoice that was made, or had been by the same id. */
export interface CreatedInvoice {
  readonly id: string
  readonly token: string
  readonly document: Invoice
}

/** A hundred million roubles: what one payment order can be, and a slip of the finger is more. */
const invoiceAmountMax: Kopecks = 10_000_000_000
const tokenBytes = 32

/**
 * Makes an invoice for an account's company, and has it emailed.
 * @throws DocumentError when the account has no company, or the amount is none
 */
export async function createInvoice(
  records: Records,
  seller: Seller,
  { accountId, amount, at, id = newId(at), isEmailed = true }: NewInvoice,
): Promise<CreatedInvoice> {
  if (!Number.isSafeInteger(amount) || amount < 1 || amount > invoiceAmountMax) {
    throw new DocumentError(`an invoice is for 0.01 to ${invoiceAmountMax / 100} roubles, in whole kopecks`)
  }
  const buyer = await new CompanyBook(records).current(accountId)
  if (buyer === undefined) {
    throw new DocumentError(
      `the account ${accountId} has no company details: set them by gateway account company ${accountId} --set FILE`,
    )
  }
  const issuer = await keepFacsimile(records, seller, at)
  const date = moscowDay(at)
  const year = Number(date.slice(0, 4))
  const token = randomBytes(tokenBytes).toString('base64url')
  const about = { document_id: id, account_id: accountId, created_at: at }
  const email = documentEmailStep(records, { kind: 'invoice-made', ...about })
  return withNextNumber(
    () => lastNumber(records, seller.inn, year),
    async number => {
      // Looked for after each lost race: what was in the way may be this very invoice.
      const made = await madeBefore(records, id, accountId)
      if (made !== undefined) return made
      const document = invoiceDocument(issuer, buyer, { number, amount, date })
      const row: InvoiceRow = {
        id,
        account_id: accountId,
        seller_inn: seller.inn,
        year,
        number,
        date,
        pay_until: document.payUntil,
        amount_kopecks: amount,
        buyer_inn: buyer.details.inn,
        document: JSON.stringify(document),
        created_at: at,
        cancelled_at: null,
        token,
      }
      await records.write([
        { write: records.build.insertInto('invoices').values(row) },
        ...(isEmailed ? [email] : []),
      ])
      return { id, token, document }
    },
  )
}

/** @throws DocumentError when the id is of another account */
async function madeBefore(
  records: RecordReader,
  id: string,
  accountId: string,
): Promise<CreatedInvoice | undefined> {
  const [row] = await records.all(
    records.build.selectFrom('invoices').select(['account_id', 'token', 'document']).where('id', '=', id),
  )
  if (row === undefined) return undefined
  if (row.account_id !== accountId) throw new DocumentError(`the invoice ${id} is another's`)
  return { id, token: row.token, document: JSON.parse(row.document) as Invoice }
}

async function lastNumber(records: RecordReader, sellerInn: string, year: number): Promise<number> {
  const [row] = await records.all(
    records.build
      .selectFrom('invoices')
      .select(one => one.fn.max('number').as('last'))
      .where('seller_inn', '=', sellerInn)
      .where('year', '=', year),
  )
  return row?.last ?? 0
}

function invoiceDocument(
  seller: Seller,
  buyer: CompanyVersion,
  { number, amount, date }: { readonly number: number; readonly amount: Kopecks; readonly date: string },
): Invoice {
  const tax = requiredTax(seller, date)
  const vat = vatWithin(amount, tax.rate)
  const shown = `${seller.numbering.invoicePrefix}${number}`
  const vatText = tax.rate === 'none' ? 'НДС не облагается' : `В т. ч. НДС ${tax.rate}% ${printedAmount(vat)}`
  return {
    kind: 'invoice',
    number: shown,
    date,
    payUntil: addWorkingDays(date, seller.payWithinDays),
    seller,
    buyer: buyer.details,
    tax,
    lines: [{ name: 'Аванс за услуги доступа по API', amount, vat }],
    amount,
    vat,
    contract: contractOf(buyer),
    purpose: `Оплата по счету № ${shown} от ${shortDay(date)}, лицевой счет ${buyer.accountId}. ${vatText}`,
  }
}
