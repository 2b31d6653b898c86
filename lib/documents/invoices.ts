import { setTimeout as delay } from 'node:timers/promises'
import { taxOn } from '../companies/seller.ts'
import type { Seller, TaxPeriod } from '../companies/seller.ts'
import type { Kopecks } from '../money/kopecks.ts'
import { newId } from '../new-id.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { RecordReader, Records } from '../stores/records/records.ts'
import type { InvoiceRow } from '../stores/records/document-tables.ts'
import { vatWithin } from './arithmetic.ts'
import { CompanyBook } from './company-book.ts'
import type { CompanyVersion } from './company-book.ts'
import type { Contract, Invoice } from './document.ts'
import { DocumentError } from './document-error.ts'
import { addWorkingDays, moscowDay } from './moscow-days.ts'
import { printedAmount, shortDay } from './print/printed-text.ts'

/** An invoice as it is stored. */
export interface StoredInvoice {
  readonly id: string
  readonly accountId: string
  readonly isCancelled: boolean
  readonly document: Invoice
}

/** A hundred million roubles: what one payment order can be, and a slip of the finger is more. */
const amountMax: Kopecks = 10_000_000_000
const attemptsMax = 200
const retryMsMax = 20

/** The offer that an account agreed to when its company was named. */
export function contractOf({ accountId, createdAt }: CompanyVersion): Contract {
  return { name: 'Договор-оферта', number: accountId, date: moscowDay(createdAt) }
}

/** The tax of a day. @throws DocumentError before the first period */
export function requiredTax(seller: Seller, day: string): TaxPeriod {
  const tax = taxOn(seller.tax, day)
  if (tax !== undefined) return tax
  throw new DocumentError(`seller.tax says nothing of ${day}: add a period that begins before it`)
}

/**
 * Runs what takes the next number of a year until no one else has taken it first, so that numbers have no gap.
 * @throws RecordConflictError when others were faster all the time
 */
export async function withNextNumber<T>(
  last: () => Promise<number>,
  take: (number: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const number = (await last()) + 1
    try {
      return await take(number)
    } catch (error) {
      if (!(error instanceof RecordConflictError) || attempt === attemptsMax) throw error
    }
    await delay(Math.random() * retryMsMax)
  }
}

/**
 * Makes an invoice for an account's company.
 * @throws DocumentError when the account has no company, or the amount is none
 */
export async function createInvoice(
  records: Records,
  seller: Seller,
  { accountId, amount, at }: { readonly accountId: string; readonly amount: Kopecks; readonly at: number },
): Promise<StoredInvoice> {
  if (!Number.isSafeInteger(amount) || amount < 1 || amount > amountMax) {
    throw new DocumentError(`an invoice is for 0.01 to ${amountMax / 100} roubles, in whole kopecks`)
  }
  const buyer = await new CompanyBook(records).current(accountId)
  if (buyer === undefined) {
    throw new DocumentError(
      `the account ${accountId} has no company details: set them by gateway account company ${accountId} --set FILE`,
    )
  }
  const id = newId(at)
  const date = moscowDay(at)
  const year = Number(date.slice(0, 4))
  return withNextNumber(
    () => lastNumber(records, seller.inn, year),
    async number => {
      const document = invoiceDocument(seller, buyer, { number, amount, date })
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
      }
      await records.write([{ write: records.build.insertInto('invoices').values(row) }])
      return { id, accountId, isCancelled: false, document }
    },
  )
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

/** Cancels an invoice that must not be paid any more. @throws DocumentError when there is none, or it is cancelled */
export async function cancelInvoice(records: Records, id: string, at: number): Promise<void> {
  try {
    await records.write([
      {
        write: records.build
          .updateTable('invoices')
          .set({ cancelled_at: at })
          .where('id', '=', id)
          .where('cancelled_at', 'is', null),
        rows: 1,
      },
    ])
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    throw new DocumentError(`there is no invoice ${id} that could be cancelled`, { cause: error })
  }
}

/** An invoice with what has been paid for it. */
export interface InvoiceState extends StoredInvoice {
  readonly paid: Kopecks
  readonly state: 'open' | 'overdue' | 'part-paid' | 'paid' | 'overpaid' | 'cancelled'
}

/** Invoices of an account, or of all, the newest first. */
export async function listInvoices(
  records: RecordReader,
  today: string,
  accountId?: string,
): Promise<readonly InvoiceState[]> {
  const all = records.build.selectFrom('invoices').selectAll().orderBy('id', 'desc')
  const rows = await records.all(accountId === undefined ? all : all.where('account_id', '=', accountId))
  const paid = await records.all(
    records.build
      .selectFrom('transfers')
      .select(one => ['invoice_id', one.fn.sum<number>('amount_kopecks').as('paid')])
      .where('invoice_id', 'is not', null)
      .where('state', '=', 'credited')
      .groupBy('invoice_id'),
  )
  const paidById = new Map(paid.map(row => [row.invoice_id, Number(row.paid)]))
  return rows.map(row => {
    const document = JSON.parse(row.document) as Invoice
    const sum = paidById.get(row.id) ?? 0
    const isCancelled = row.cancelled_at !== null
    const state = stateOf({
      isCancelled,
      amount: row.amount_kopecks,
      paid: sum,
      isLate: row.pay_until < today,
    })
    return { id: row.id, accountId: row.account_id, isCancelled, document, paid: sum, state }
  })
}

function stateOf(one: {
  readonly isCancelled: boolean
  readonly amount: Kopecks
  readonly paid: Kopecks
  readonly isLate: boolean
}): InvoiceState['state'] {
  if (one.isCancelled) return 'cancelled'
  if (one.paid > one.amount) return 'overpaid'
  if (one.paid === one.amount) return 'paid'
  if (one.paid > 0) return 'part-paid'
  return one.isLate ? 'overdue' : 'open'
}
