import type { Seller } from '../companies/seller.ts'
import type { RecordReader, Records } from '../stores/records/records.ts'
import type { StoredClosing } from './closing-rows.ts'
import { CompanyBook } from './company-book.ts'
import type { CompanyVersion } from './company-book.ts'
import { DocumentError } from './document-error.ts'
import { issueClosing } from './issue-closing.ts'
import { isMonth, lastDay, moscowDay, shiftMonth } from '../ledger/moscow-days.ts'
import { owedUntil } from './owed-documents.ts'

/** What closing did: the documents that it made, by month, oldest first. */
export interface CloseResult {
  readonly months: readonly string[]
  readonly made: readonly StoredClosing[]
}

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
  await records.write([{ write: mark }])
  return made
}
