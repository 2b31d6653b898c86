import type { Seller } from '../companies/seller.ts'
import { checkText, cleanText } from '../companies/printable-text.ts'
import { describeProblem } from '../companies/describe-problem.ts'
import { newId } from '../new-id.ts'
import type { ClosingRow } from '../stores/records/document-tables.ts'
import type { RecordReader, Records } from '../stores/records/records.ts'
import { CompanyBook } from './company-book.ts'
import type { ClosingDocument } from './document.ts'
import { DocumentError } from './document-error.ts'
import { rowOf } from './month-close.ts'
import type { StoredClosing } from './month-close.ts'
import { moscowDay } from './moscow-days.ts'

/** Which documents are asked for; absent means all. */
interface ClosingFilter {
  readonly accountId?: string
  readonly month?: string
}

/** Acts and universal transfer documents with their corrections, by month and number. */
export async function listClosing(
  records: RecordReader,
  { accountId, month }: ClosingFilter = {},
): Promise<readonly StoredClosing[]> {
  let query = records.build
    .selectFrom('closing_documents')
    .selectAll()
    .orderBy('month')
    .orderBy('year')
    .orderBy('number')
    .orderBy('correction')
  if (accountId !== undefined) query = query.where('account_id', '=', accountId)
  if (month !== undefined) query = query.where('month', '=', month)
  return (await records.all(query)).map(storedOf)
}

function storedOf(row: ClosingRow): StoredClosing {
  return {
    id: row.id,
    accountId: row.account_id,
    month: row.month,
    state: row.state,
    document: JSON.parse(row.document) as ClosingDocument,
  }
}

/** @throws DocumentError when there is none */
async function findClosing(records: RecordReader, id: string): Promise<ClosingRow> {
  const [row] = await records.all(
    records.build.selectFrom('closing_documents').selectAll().where('id', '=', id),
  )
  if (row !== undefined) return row
  throw new DocumentError(`there is no document ${id}: gateway documents list shows them`)
}

/**
 * Issues a document anew with the company's details of today, under the same number: a correction (исправление). Its
 * sum stays; what was charged too much or too little is in the next month.
 *
 * @throws DocumentError when there is no such document, or the reason cannot be printed
 */
export async function correctClosing(
  records: Records,
  seller: Seller,
  { id, reason, at }: { readonly id: string; readonly reason: string; readonly at: number },
): Promise<StoredClosing> {
  const problem = checkText(cleanText(reason), 500)
  if (problem !== undefined) throw new DocumentError(`the reason ${describeProblem(problem)}`)
  const row = await findClosing(records, id)
  const issued = (await listClosing(records, { accountId: row.account_id, month: row.month })).filter(
    one => one.document.seller.inn === row.seller_inn,
  )
  const last = issued.at(-1)
  const buyer = await new CompanyBook(records).current(row.account_id)
  if (last === undefined || buyer === undefined) throw new DocumentError(`the document ${id} has no company`)
  const number = (last.document.correction?.number ?? 0) + 1
  const stored: StoredClosing = {
    ...last,
    id: newId(at),
    state: 'issued',
    document: {
      ...last.document,
      seller: { ...seller, tax: last.document.seller.tax },
      buyer: buyer.details,
      correction: { number, date: moscowDay(at), reason: cleanText(reason) },
    },
  }
  const next = rowOf(stored, { sellerInn: row.seller_inn, number: row.number, at })
  await records.write([{ write: records.build.insertInto('closing_documents').values(next) }])
  return stored
}

/** Notes that a document was sent or signed. @throws DocumentError when there is none */
export async function markClosing(records: Records, id: string, state: ClosingRow['state']): Promise<void> {
  await findClosing(records, id)
  await records.write([
    { write: records.build.updateTable('closing_documents').set({ state }).where('id', '=', id), rows: 1 },
  ])
}
