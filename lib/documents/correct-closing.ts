import { actionSteps } from '../administration/operator-log.ts'
import { describeProblem } from '../companies/describe-problem.ts'
import { checkText, cleanText } from '../companies/printable-text.ts'
import type { Seller } from '../companies/seller.ts'
import { newId } from '../platform/new-id.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { RecordReader, Records } from '../stores/records/records.ts'
import { findClosing } from './closing-documents.ts'
import { closingRow, storedClosing } from './closing-rows.ts'
import type { StoredClosing } from './closing-rows.ts'
import { CompanyBook } from './company-book.ts'
import { documentEmailStep } from './document-emails.ts'
import { DocumentError } from './document-error.ts'
import { keepFacsimile } from './facsimile.ts'
import { moscowDay } from '../ledger/moscow-days.ts'

const reasonLengthMax = 500
const attemptsMax = 20

interface ClosingCorrection {
  readonly id: string
  readonly reason: string
  readonly at: number
  /** For the operators' log. */
  readonly operator?: string
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
  { id, reason, at, operator }: ClosingCorrection,
): Promise<StoredClosing> {
  const text = cleanText(reason)
  const problem = checkText(text, reasonLengthMax)
  if (problem !== undefined) throw new DocumentError(`the reason ${describeProblem(problem)}`)
  const row = await findClosing(records, id)
  if (row.seller_inn !== seller.inn)
    throw new DocumentError(`the document ${id} was issued by another seller, INN ${row.seller_inn}`)
  const buyer = await new CompanyBook(records).current(row.account_id)
  if (buyer === undefined) throw new DocumentError(`the document ${id} has no company`)
  const issuer = await keepFacsimile(records, seller, at)
  for (let attempt = 1; ; attempt += 1) {
    const last = await lastIssued(records, row)
    const stored: StoredClosing = {
      ...last,
      id: newId(at),
      state: 'issued',
      document: {
        ...last.document,
        seller: { ...issuer, tax: last.document.seller.tax },
        buyer: buyer.details,
        correction: {
          number: (last.document.correction?.number ?? 0) + 1,
          date: moscowDay(at),
          reason: text,
        },
      },
    }
    const next = closingRow(stored, { sellerInn: row.seller_inn, number: row.number, at })
    const about = { document_id: stored.id, account_id: row.account_id, created_at: at }
    try {
      await records.write([
        { write: records.build.insertInto('closing_documents').values(next) },
        ...actionSteps(records, {
          operator,
          action: 'correct-document',
          accountId: row.account_id,
          reason: `${id}: ${text}`,
          at,
        }),
        documentEmailStep(records, { kind: 'closing-issued', ...about }),
      ])
      return stored
    } catch (error) {
      // Another correction was made in the same moment: this one comes after it.
      if (!(error instanceof RecordConflictError) || attempt === attemptsMax) throw error
    }
  }
}

/** The newest issue of a document. */
async function lastIssued(
  records: RecordReader,
  { seller_inn, year, number }: Awaited<ReturnType<typeof findClosing>>,
): Promise<StoredClosing> {
  const [row] = await records.all(
    records.build
      .selectFrom('closing_documents')
      .selectAll()
      .where('seller_inn', '=', seller_inn)
      .where('year', '=', year)
      .where('number', '=', number)
      .orderBy('correction', 'desc')
      .limit(1),
  )
  if (row === undefined) throw new DocumentError(`the document ${number} of ${year} is not there any more`)
  return storedClosing(row)
}
