import { randomBytes } from 'node:crypto'
import { isForgotten, requireKept } from '../administration/forget-user.ts'
import { actionStep } from '../administration/operator-log.ts'
import { formatKopecks, type Kopecks } from '../money/kopecks.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { RecordReader, Records, RecordStep } from '../stores/records/records.ts'
import { DocumentError, withNextNumber, contractOf, requiredTax, type Invoice } from './document.ts'
import type { Seller } from '../companies/seller.ts'
import { newId } from '../platform/new-id.ts'
import { paidParts, type InvoiceRow } from '../stores/records/document-tables.ts'
import { vatWithin } from './account-money.ts'
import { currentCompany, keepFacsimile, type CompanyVersion } from './company-versions.ts'
import { documentEmailStep } from './document-emails.ts'
import { addWorkingDays, moscowDay } from '../ledger/moscow-days.ts'
import { shortDay } from './print/printed-text.ts'

/** A stored invoice, with the amount paid for it. */
export interface StoredInvoice {
  readonly id: string
  readonly accountId: string
  /** Part of the URL of its public page. */
  readonly token: string
  readonly document: Invoice
  readonly paid: Kopecks
  readonly state: 'open' | 'overdue' | 'part-paid' | 'paid' | 'overpaid' | 'canceled'
  readonly createdAt: number
  /** The account is deleted, so a payment for it cannot be used. */
  readonly isAccountDeleted: boolean
}

/** Selects invoices; an absent condition matches all. */
interface InvoiceFilter {
  readonly accountId?: string
  readonly year?: number
  readonly id?: string
  readonly token?: string
  /** Only those due on this day or later. */
  readonly payUntilFrom?: string
  /** Numbers within their year, without prefix. */
  readonly numbers?: readonly number[]
}

/** Invoices, the newest first. `today` decides which are overdue. */
export async function listInvoices(
  records: RecordReader,
  today: string,
  { accountId, year, id, token, payUntilFrom, numbers }: InvoiceFilter = {},
): Promise<readonly StoredInvoice[]> {
  const { build } = records
  let query = build
    .selectFrom('invoices')
    .selectAll()
    .select(one => paidParts(one).as('paid'))
    .select(one =>
      one
        .selectFrom('accounts')
        .select('accounts.email')
        .whereRef('accounts.id', '=', 'invoices.account_id')
        .as('email'),
    )
    .orderBy('created_at', 'desc')
    .orderBy('number', 'desc')
  if (accountId !== undefined) query = query.where('account_id', '=', accountId)
  if (year !== undefined) query = query.where('year', '=', year)
  if (id !== undefined) query = query.where('id', '=', id)
  if (token !== undefined) query = query.where('token', '=', token)
  if (payUntilFrom !== undefined) query = query.where('pay_until', '>=', payUntilFrom)
  if (numbers !== undefined) query = query.where('number', 'in', numbers)
  const rows = await records.all(query)
  return rows.map(row => {
    const paid = Number(row.paid ?? 0)
    return {
      id: row.id,
      accountId: row.account_id,
      token: row.token,
      document: JSON.parse(row.document) as Invoice,
      paid,
      state: stateOf({
        isCanceled: row.cancelled_at !== null,
        amount: row.amount_kopecks,
        paid,
        isLate: row.pay_until < today,
      }),
      createdAt: row.created_at,
      isAccountDeleted: isForgotten(row.email),
    }
  })
}

function stateOf(one: {
  readonly isCanceled: boolean
  readonly amount: Kopecks
  readonly paid: Kopecks
  readonly isLate: boolean
}): StoredInvoice['state'] {
  if (one.isCanceled) return 'canceled'
  if (one.paid > one.amount) return 'overpaid'
  if (one.paid === one.amount) return 'paid'
  if (one.paid > 0) return 'part-paid'
  return one.isLate ? 'overdue' : 'open'
}

/**
 * Cancels an invoice, so that it must not be paid.
 * @param by the account that owns it, which requires that nothing is paid, or the operator for the log
 * @throws DocumentError when it does not exist, or is paid or canceled
 */
export async function cancelInvoice(
  records: Records,
  id: string,
  at: number,
  by: { readonly accountId: string } | { readonly operator: string },
): Promise<void> {
  const { build } = records
  const open = build
    .updateTable('invoices')
    .set({ cancelled_at: at })
    .where('id', '=', id)
    .where('cancelled_at', 'is', null)
  const write =
    'accountId' in by
      ? open.where('account_id', '=', by.accountId).where(one => one(paidParts(one), '=', 0))
      : open.where(one => one(paidParts(one), '<', one.ref('amount_kopecks')))
  const logged: RecordStep[] = []
  if ('operator' in by) {
    const [invoice] = await records.all(
      build.selectFrom('invoices').select('account_id').where('id', '=', id),
    )
    const accountId = invoice?.account_id ?? ''
    logged.push(
      actionStep(records, { operator: by.operator, action: 'cancel-invoice', accountId, reason: id, at }),
    )
  }
  try {
    await records.write([{ write, rows: 1 }, ...logged])
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    const message = `there is no invoice ${id} that could be canceled: gateway invoice list shows them`
    throw new DocumentError('invoice_not_found', message, { id }, { cause: error })
  }
}

interface NewInvoice {
  readonly accountId: string
  readonly amount: Kopecks
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Generated before the form was shown, so that submitting the form again makes no second invoice. */
  readonly id?: string
  /** False when the caller sends it. */
  readonly isEmailed?: boolean
}

/** A created invoice, or the one created earlier with the same id. */
interface CreatedInvoice {
  readonly id: string
  readonly token: string
  readonly document: Invoice
}

/** A hundred million roubles, the most of one payment order; more is a typing error. */
const invoiceAmountMax: Kopecks = 10_000_000_000
const tokenBytes = 32

/**
 * Creates an invoice for an account's company and queues its email.
 * @throws DocumentError when the account has no company, or the amount is invalid
 * @throws AccountError account_deleted
 */
export async function createInvoice(
  records: Records,
  seller: Seller,
  { accountId, amount, at, id = newId(at), isEmailed = true }: NewInvoice,
): Promise<CreatedInvoice> {
  if (!Number.isSafeInteger(amount) || amount < 1 || amount > invoiceAmountMax) {
    throw new DocumentError(
      'invoice_amount',
      `an invoice is for 0.01 to ${invoiceAmountMax / 100} roubles, in whole kopecks`,
      { mostKopecks: invoiceAmountMax },
    )
  }
  const buyer = await currentCompany(records, accountId)
  if (buyer === undefined) {
    throw new DocumentError(
      'company_missing',
      `the account ${accountId} has no company details: set them by gateway account company ${accountId} --set FILE`,
      { account: accountId },
    )
  }
  const [account] = await records.all(
    records.build.selectFrom('accounts').select('email').where('id', '=', accountId),
  )
  requireKept(accountId, account?.email ?? null)
  const issuer = await keepFacsimile(records, seller, at)
  const date = moscowDay(at)
  const year = Number(date.slice(0, 4))
  const token = randomBytes(tokenBytes).toString('base64url')
  const about = { document_id: id, account_id: accountId, created_at: at }
  const email = documentEmailStep(records, { kind: 'invoice-made', ...about })
  return withNextNumber(records, { table: 'invoices', seller, year }, async number => {
    // Checked after each lost race: the winner may have created this very invoice.
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
  })
}

/** @throws DocumentError when the id belongs to another account's invoice */
async function madeBefore(
  records: RecordReader,
  id: string,
  accountId: string,
): Promise<CreatedInvoice | undefined> {
  const [row] = await records.all(
    records.build.selectFrom('invoices').select(['account_id', 'token', 'document']).where('id', '=', id),
  )
  if (row === undefined) return undefined
  if (row.account_id !== accountId)
    throw new DocumentError('invoice_of_another', `the invoice ${id} is another's`, { id })
  return { id, token: row.token, document: JSON.parse(row.document) as Invoice }
}

function invoiceDocument(
  seller: Seller,
  buyer: CompanyVersion,
  { number, amount, date }: { readonly number: number; readonly amount: Kopecks; readonly date: string },
): Invoice {
  const tax = requiredTax(seller, date)
  const vat = vatWithin(amount, tax.rate)
  const invoice = {
    kind: 'invoice',
    number: `${seller.numbering.invoicePrefix}${number}`,
    date,
    payUntil: addWorkingDays(date, seller.payWithinDays),
    seller,
    buyer: buyer.details,
    tax,
    lines: [{ name: 'Аванс за услуги доступа по API', amount, vat }],
    amount,
    vat,
    contract: contractOf(buyer),
  } as const
  return { ...invoice, purpose: purposeOf(invoice, amount) }
}

/** The purpose of a payment order for a part of an invoice, with the tax within that part. */
function purposeOf(
  { number, date, contract, tax }: Pick<Invoice, 'number' | 'date' | 'contract' | 'tax'>,
  amount: Kopecks,
): string {
  const vat = formatKopecks(vatWithin(amount, tax.rate))
  const vatText = tax.rate === 'none' ? 'НДС не облагается' : `В т. ч. НДС ${tax.rate}% ${vat}`
  return `Оплата по счету № ${number} от ${shortDay(date)}, лицевой счет ${contract.number}. ${vatText}`
}

/** The unpaid amount of an invoice, and the purpose of a payment order for it. */
export function stillToPay({ document, paid, state }: Pick<StoredInvoice, 'document' | 'paid' | 'state'>): {
  readonly amount: Kopecks
  readonly purpose: string
} {
  const amount = document.amount - paid
  return { amount, purpose: state === 'part-paid' ? purposeOf(document, amount) : document.purpose }
}
