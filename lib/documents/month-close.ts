import { roundToKopecks, type Kopecks } from '../money/kopecks.ts'
import { chargedUntil } from '../stores/records/ledger-entries.ts'
import type { RecordReader, Records } from '../stores/records/records.ts'
import { monthAmount, readMoney, vatWithin, lotsOf, spentBetween } from './account-money.ts'
import { companyVersions, keepFacsimile, type CompanyVersion } from './company-versions.ts'
import { dayEnd, dayNumber, lastDay, moscowDay, shiftMonth, isMonth } from '../ledger/moscow-days.ts'
import { actionSteps } from '../administration/operator-log.ts'
import type { Seller } from '../companies/seller.ts'
import { closingRow, type StoredClosing } from './closing-documents.ts'
import { DocumentError, withNextNumber, contractOf, requiredTax, type ClosingDocument } from './document.ts'
import { newId } from '../platform/new-id.ts'
import { documentEmailStep } from './document-emails.ts'

/** What a company was charged and has no document for at the end of a month. */
interface Owed {
  readonly accountId: string
  /** Everything charged earlier that is documented: here or, before the account was a company's, elsewhere. */
  readonly before: Kopecks
  /** Zero or less when there is nothing to document. */
  readonly amount: Kopecks
}

/** The month before an account became a company's: usage until then was sold to a person. */
export function monthBefore({ since }: Pick<CompanyVersion, 'since'>): string {
  return shiftMonth(moscowDay(since).slice(0, 7), -1)
}

/** The undocumented amount of each company at the end of a month, ordered by account. */
export async function owedUntil(
  records: RecordReader,
  companies: readonly CompanyVersion[],
  month: string,
): Promise<readonly Owed[]> {
  const sums = new Map<string, ReadonlyMap<string, number>>()
  const until = async (one: string): Promise<ReadonlyMap<string, number>> => {
    const day = lastDay(one)
    const found =
      sums.get(one) ??
      (await chargedUntil(records, { accountsOf: 'companies', day: dayNumber(day), end: dayEnd(day) }))
    sums.set(one, found)
    return found
  }
  const charged = await until(month)
  const documented = await documentedBefore(records)
  const owed: Owed[] = []
  for (const company of companies.filter(one => one.version === 1)) {
    const { accountId } = company
    const begun = monthBefore(company)
    const base = await until(begun < month ? begun : month)
    const before = roundToKopecks(base.get(accountId) ?? 0) + (documented.get(accountId) ?? 0)
    owed.push({ accountId, before, amount: monthAmount(charged.get(accountId) ?? 0, before) })
  }
  return owed
}

/**
 * Corrections change no amount, so only the first issue of each document counts, under any seller: nothing is
 * documented twice.
 */
async function documentedBefore(records: RecordReader): Promise<ReadonlyMap<string, Kopecks>> {
  const rows = await records.all(
    records.build
      .selectFrom('closing_documents')
      .select(one => ['account_id', one.fn.sum<number>('amount_kopecks').as('amount')])
      .where('correction', '=', 0)
      .groupBy('account_id'),
  )
  return new Map(rows.map(row => [row.account_id, Number(row.amount)]))
}

/** The result of closing: the documents made, by month, oldest first. */
interface CloseResult {
  readonly months: readonly string[]
  readonly made: readonly StoredClosing[]
}

interface MonthClose {
  readonly month: string
  readonly at: number
  /** For the operator log; undefined when the gateway closed the month on schedule. */
  readonly operator?: string | undefined
}

/**
 * Makes the documents of a month, and before it those of earlier months that are not closed. A closed month stays
 * unchanged: later charges for it go into the next. The next run completes an interrupted one.
 *
 * @throws DocumentError when the month has not begun, or the seller has no tax period for it
 */
export async function closeMonth(
  records: Records,
  seller: Seller,
  { month, at, operator }: MonthClose,
): Promise<CloseResult> {
  if (!isMonth(month))
    throw new DocumentError('month_invalid', `"${month}" is no month, such as 2026-11`, { month })
  if (month > moscowDay(at).slice(0, 7))
    throw new DocumentError('month_not_begun', `the month ${month} has not begun`, { month })
  const companies = await companyVersions(records)
  const first = companies.map(one => moscowDay(one.createdAt).slice(0, 7)).toSorted()[0]
  const closed = new Set(await closedMonths(records, seller))
  const made: StoredClosing[] = []
  const months: string[] = []
  for (let one = first ?? month; one <= month; one = shiftMonth(one, 1)) {
    if (closed.has(one)) continue
    made.push(...(await closeOne(records, seller, companies, { month: one, at, operator })))
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

const monthNames = 'январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь'.split(
  ' ',
)

/**
 * Issues the document of a company's month under the next number, and queues its email. Undefined when another node
 * has issued it meanwhile.
 */
async function issueClosing(
  records: Records,
  seller: Seller,
  buyer: CompanyVersion,
  { owed, month, at }: { readonly owed: Owed; readonly month: string; readonly at: number },
): Promise<StoredClosing | undefined> {
  const { accountId } = buyer
  const payments = await paymentsFor(records, owed, month)
  const issuer = await keepFacsimile(records, seller, at)
  const id = newId(at)
  const about = { document_id: id, account_id: accountId, created_at: at }
  const email = documentEmailStep(records, { kind: 'closing-issued', ...about })
  const numbered = { table: 'closing_documents', seller, year: Number(month.slice(0, 4)) } as const
  return withNextNumber(records, numbered, async number => {
    // Checked after each lost race: the winner may have issued this very document.
    if (await hasDocument(records, seller, accountId, month)) return undefined
    const document = closingDocument(issuer, buyer, { number, month, owed, payments })
    const stored = { id, accountId, month, state: 'issued' as const, document }
    const row = closingRow(stored, { sellerInn: seller.inn, number, at })
    await records.write([{ write: records.build.insertInto('closing_documents').values(row) }, email])
    return stored
  })
}

function closingDocument(
  seller: Seller,
  buyer: CompanyVersion,
  sale: {
    readonly number: number
    readonly month: string
    readonly owed: Owed
    readonly payments: ClosingDocument['payments']
  },
): ClosingDocument {
  const { number, month, payments } = sale
  const { amount } = sale.owed
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

/** The payment orders that a document covers: a tax invoice must name the prepayments. */
async function paymentsFor(
  records: RecordReader,
  { accountId, before, amount }: Owed,
  month: string,
): Promise<ClosingDocument['payments']> {
  const moved = await readMoney(records, accountId, dayEnd(lastDay(month)))
  const orders = new Map(moved.map(({ id, order }) => [id, order]))
  return spentBetween(lotsOf(moved), before, before + amount).flatMap(({ lot }) => {
    const order = orders.get(lot.id)
    return order === undefined ? [] : [{ ...order, amount: lot.amount }]
  })
}

async function closeOne(
  records: Records,
  seller: Seller,
  companies: readonly CompanyVersion[],
  { month, at, operator }: MonthClose,
): Promise<StoredClosing[]> {
  const end = lastDay(month)
  const made: StoredClosing[] = []
  for (const owed of await owedUntil(records, companies, month)) {
    const buyer = companies.findLast(
      one => one.accountId === owed.accountId && moscowDay(one.createdAt) <= end,
    )
    if (owed.amount <= 0 || buyer === undefined) continue
    const stored = await issueClosing(records, seller, buyer, { owed, month, at })
    if (stored !== undefined) made.push(stored)
  }
  const mark = records.build
    .insertInto('closed_months')
    .values({ seller_inn: seller.inn, month, closed_at: at })
    .onConflict(conflict => conflict.doNothing())
  const reason = `${month}: ${made.length} documents`
  await records.write([
    { write: mark },
    ...actionSteps(records, { operator, action: 'close-month', accountId: '', reason, at }),
  ])
  return made
}
