import type { Seller } from '../companies/seller.ts'
import type { Kopecks } from '../money/kopecks.ts'
import { newId } from '../new-id.ts'
import { chargedUntil } from '../stores/records/charged-until.ts'
import type { ClosingRow } from '../stores/records/document-tables.ts'
import type { RecordReader, Records } from '../stores/records/records.ts'
import { roundToKopecks } from '../money/kopecks.ts'
import { monthAmount, vatWithin } from './arithmetic.ts'
import { CompanyBook } from './company-book.ts'
import type { CompanyVersion } from './company-book.ts'
import type { ClosingDocument } from './document.ts'
import { DocumentError } from './document-error.ts'
import { contractOf, requiredTax, withNextNumber } from './invoices.ts'
import { dayEnd, dayNumber, isMonth, lastDay, moscowDay, shiftMonth } from './moscow-days.ts'

/** A document of a month as it is stored. */
export interface StoredClosing {
  readonly id: string
  readonly accountId: string
  readonly month: string
  readonly state: ClosingRow['state']
  readonly document: ClosingDocument
}

/** What closing did: the documents that it made, by month, oldest first. */
export interface CloseResult {
  readonly months: readonly string[]
  readonly made: readonly StoredClosing[]
}

const monthNames = 'январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь'.split(
  ' ',
)

/**
 * Makes the documents of a month, and before it those of earlier months that are not closed. One that is closed stays
 * as it is: what is charged for it later is in the next. A run that was cut off is finished by the next.
 *
 * @throws DocumentError when the month has not begun, or the seller has no tax period for it
 */
export async function closeMonth(
  records: Records,
  seller: Seller,
  { month, at }: { readonly month: string; readonly at: number },
): Promise<CloseResult> {
  if (!isMonth(month)) throw new DocumentError(`"${month}" is no month, such as 2026-11`)
  if (month > moscowDay(at).slice(0, 7)) throw new DocumentError(`the month ${month} has not begun`)
  const companies = await new CompanyBook(records).all()
  const first = companies.map(one => moscowDay(one.createdAt).slice(0, 7)).toSorted()[0]
  const closed = new Set(await closedMonths(records, seller))
  const made: StoredClosing[] = []
  const months: string[] = []
  for (let one = first ?? month; one <= month; one = shiftMonth(one, 1)) {
    if (closed.has(one)) continue
    made.push(...(await closeOne(records, seller, companies, { month: one, at })))
    months.push(one)
  }
  return { months, made }
}

/** Months that a seller has closed. */
async function closedMonths(records: RecordReader, seller: Seller): Promise<readonly string[]> {
  const rows = await records.all(
    records.build
      .selectFrom('closed_months')
      .select('month')
      .where('seller_inn', '=', seller.inn)
      .orderBy('month'),
  )
  return rows.map(row => row.month)
}

async function closeOne(
  records: Records,
  seller: Seller,
  companies: readonly CompanyVersion[],
  { month, at }: { readonly month: string; readonly at: number },
): Promise<StoredClosing[]> {
  const end = lastDay(month)
  const amounts = await owedUntil(records, seller, companies, month)
  const made: StoredClosing[] = []
  for (const [accountId, amount] of amounts) {
    const buyer = companies.findLast(one => one.accountId === accountId && moscowDay(one.createdAt) <= end)
    if (amount <= 0 || buyer === undefined) continue
    const stored = await makeDocument(records, seller, buyer, { month, amount, at })
    if (stored !== undefined) made.push(stored)
  }
  const mark = records.build
    .insertInto('closed_months')
    .values({ seller_inn: seller.inn, month, closed_at: at })
    .onConflict(conflict => conflict.doNothing())
  await records.write([{ write: mark }])
  return made
}

/** What each company has no document for at the end of a month, by account in order. */
async function owedUntil(
  records: RecordReader,
  seller: Seller,
  companies: readonly CompanyVersion[],
  month: string,
): Promise<readonly (readonly [accountId: string, amount: Kopecks])[]> {
  const until = (day: string) => chargedUntil(records, { day: dayNumber(day), end: dayEnd(day) })
  const charged = await until(lastDay(month))
  const documented = await documentedBefore(records, seller)
  const owed: [string, Kopecks][] = []
  for (const { accountId, createdAt } of companies.filter(one => one.version === 1)) {
    // What was used before the month in which the account became a company's is documented otherwise.
    const begun = lastDay(shiftMonth(moscowDay(createdAt).slice(0, 7), -1))
    const before = begun >= lastDay(month) ? charged : await until(begun)
    const base = roundToKopecks(before.get(accountId) ?? 0)
    owed.push([accountId, monthAmount(charged.get(accountId) ?? 0, base + (documented.get(accountId) ?? 0))])
  }
  return owed
}

/** Corrections change no sum, so the first issue of each document counts. */
async function documentedBefore(
  records: RecordReader,
  seller: Seller,
): Promise<ReadonlyMap<string, Kopecks>> {
  const rows = await records.all(
    records.build
      .selectFrom('closing_documents')
      .select(one => ['account_id', one.fn.sum<number>('amount_kopecks').as('amount')])
      .where('seller_inn', '=', seller.inn)
      .where('correction', '=', 0)
      .groupBy('account_id'),
  )
  return new Map(rows.map(row => [row.account_id, Number(row.amount)]))
}

/** Undefined when another node has made it meanwhile. */
async function makeDocument(
  records: Records,
  seller: Seller,
  buyer: CompanyVersion,
  { month, amount, at }: { readonly month: string; readonly amount: Kopecks; readonly at: number },
): Promise<StoredClosing | undefined> {
  const { accountId } = buyer
  const date = lastDay(month)
  const payments = await paymentsOf(records, accountId, month)
  return withNextNumber(
    () => lastNumber(records, seller.inn, Number(month.slice(0, 4))),
    async number => {
      // Looked at after each lost race: the winner may have made this very document.
      if (await hasDocument(records, seller, accountId, month)) return undefined
      const document = closingDocument(seller, buyer, { number, month, amount, payments })
      const stored = { id: newId(at), accountId, month, state: 'issued' as const, document }
      const row = rowOf(stored, { sellerInn: seller.inn, number, at })
      await records.write([{ write: records.build.insertInto('closing_documents').values(row) }])
      return { ...stored, document: { ...document, date } }
    },
  )
}

/** A stored document as a row. */
export function rowOf(
  { id, accountId, month, state, document }: StoredClosing,
  { sellerInn, number, at }: { readonly sellerInn: string; readonly number: number; readonly at: number },
): ClosingRow {
  return {
    id,
    account_id: accountId,
    seller_inn: sellerInn,
    year: Number(month.slice(0, 4)),
    number,
    correction: document.correction?.number ?? 0,
    month,
    date: document.date,
    kind: document.kind,
    amount_kopecks: document.amount,
    vat_kopecks: document.vat,
    buyer_inn: document.buyer.inn,
    document: JSON.stringify(document),
    state,
    created_at: at,
  }
}

function closingDocument(
  seller: Seller,
  buyer: CompanyVersion,
  sale: {
    readonly number: number
    readonly month: string
    readonly amount: Kopecks
    readonly payments: ClosingDocument['payments']
  },
): ClosingDocument {
  const { number, month, amount, payments } = sale
  const date = lastDay(month)
  const tax = requiredTax(seller, date)
  const vat = vatWithin(amount, tax.rate)
  const [year, index] = month.split('-')
  return {
    kind: tax.rate === 'none' ? 'act' : 'upd',
    number: `${seller.numbering.documentPrefix}${number}`,
    date,
    from: `${month}-01`,
    to: date,
    seller,
    buyer: buyer.details,
    tax,
    lines: [{ name: `Услуги доступа по API за ${monthNames[Number(index) - 1]} ${year} г.`, amount, vat }],
    amount,
    vat,
    contract: contractOf(buyer),
    payments,
  }
}

async function lastNumber(records: RecordReader, sellerInn: string, year: number): Promise<number> {
  const [row] = await records.all(
    records.build
      .selectFrom('closing_documents')
      .select(one => one.fn.max('number').as('last'))
      .where('seller_inn', '=', sellerInn)
      .where('year', '=', year),
  )
  return row?.last ?? 0
}

async function hasDocument(
  records: RecordReader,
  seller: Seller,
  accountId: string,
  month: string,
): Promise<boolean> {
  const rows = await records.all(
    records.build
      .selectFrom('closing_documents')
      .select('id')
      .where('account_id', '=', accountId)
      .where('seller_inn', '=', seller.inn)
      .where('month', '=', month)
      .limit(1),
  )
  return rows.length > 0
}

/** What came by bank transfer in a month. */
async function paymentsOf(
  records: RecordReader,
  accountId: string,
  month: string,
): Promise<ClosingDocument['payments']> {
  const rows = await records.all(
    records.build
      .selectFrom('transfers')
      .select(['number', 'date', 'amount_kopecks'])
      .where('account_id', '=', accountId)
      .where('received_on', '>=', `${month}-01`)
      .where('received_on', '<=', lastDay(month))
      .orderBy('received_on')
      .orderBy('id')
      .limit(100),
  )
  return rows.map(row => ({ number: row.number, date: row.date, amount: row.amount_kopecks }))
}
