import type { ClosingRow } from '../stores/records/document-tables.ts'
import { DocumentError, type ClosingDocument } from './document.ts'
import { actionStep, actionSteps } from '../administration/operator-log.ts'
import { retryConflicts, type RecordReader, type Records } from '../stores/records/records.ts'
import { describeProblem } from '../companies/company-details.ts'
import { checkText, cleanText } from '../companies/printable-text.ts'
import type { Seller } from '../companies/seller.ts'
import { newId } from '../platform/new-id.ts'
import { currentCompany, keepFacsimile } from './company-versions.ts'
import { documentEmailStep } from './document-emails.ts'
import { moscowDay } from '../ledger/moscow-days.ts'

/** A stored document of a month. */
export interface StoredClosing {
  readonly id: string
  readonly accountId: string
  readonly month: string
  readonly state: ClosingRow['state']
  readonly document: ClosingDocument
}

/** A document in a list. When a later correction replaces it, its amounts no longer count. */
export interface ListedClosing extends StoredClosing {
  readonly isReplaced: boolean
}

/** Converts a row to a document. */
export function storedClosing(row: ClosingRow): StoredClosing {
  return {
    id: row.id,
    accountId: row.account_id,
    month: row.month,
    state: row.state,
    document: JSON.parse(row.document) as ClosingDocument,
  }
}

export function closingRow(
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

/** Selects documents; an absent condition matches all. */
interface ClosingFilter {
  readonly accountId?: string
  /** `2026-11`. */
  readonly month?: string
  readonly year?: number
}

/** Rows, each with the number of later corrections of the same document. */
function listedRows({ build }: RecordReader) {
  return build
    .selectFrom('closing_documents')
    .selectAll()
    .select(one =>
      one
        .selectFrom('closing_documents as later')
        .select(later => later.fn.countAll<number>().as('count'))
        .whereRef('later.seller_inn', '=', 'closing_documents.seller_inn')
        .whereRef('later.year', '=', 'closing_documents.year')
        .whereRef('later.number', '=', 'closing_documents.number')
        .whereRef('later.correction', '>', 'closing_documents.correction')
        .as('later_issues'),
    )
}

function listedClosing(row: ClosingRow & { readonly later_issues: number | null }): ListedClosing {
  return { ...storedClosing(row), isReplaced: Number(row.later_issues) > 0 }
}

/** Acts and universal transfer documents with their corrections, by month and number. */
export async function listClosing(
  records: RecordReader,
  { accountId, month, year }: ClosingFilter = {},
): Promise<readonly ListedClosing[]> {
  let query = listedRows(records).orderBy('month').orderBy('year').orderBy('number').orderBy('correction')
  if (accountId !== undefined) query = query.where('account_id', '=', accountId)
  if (month !== undefined) query = query.where('month', '=', month)
  if (year !== undefined) query = query.where('year', '=', year)
  return (await records.all(query)).map(listedClosing)
}

interface ClosingSearch {
  /** Empty: any. */
  readonly month: string
  readonly state?: ClosingRow['state'] | undefined
  /** An account, or the INN of a buyer; empty: any. */
  readonly text: string
  readonly sort: 'month' | 'amount'
  readonly isDescending: boolean
  readonly limit: number
  readonly offset: number
}

/** A page of documents of all accounts. */
export async function searchClosing(
  records: RecordReader,
  { month, state, text, sort, isDescending, limit, offset }: ClosingSearch,
): Promise<readonly ListedClosing[]> {
  const order = isDescending ? 'desc' : 'asc'
  let query = listedRows(records).limit(limit).offset(offset)
  if (sort === 'amount') query = query.orderBy('amount_kopecks', order)
  query = query.orderBy('month', order).orderBy('year', order).orderBy('number', order).orderBy('id')
  if (month !== '') query = query.where('month', '=', month)
  if (state !== undefined) query = query.where('state', '=', state)
  if (text !== '')
    query = query.where(row => row.or([row('account_id', '=', text), row('buyer_inn', '=', text)]))
  return (await records.all(query)).map(listedClosing)
}

/** @throws DocumentError when it does not exist */
export async function findClosing(records: RecordReader, id: string): Promise<ClosingRow> {
  const [row] = await records.all(
    records.build.selectFrom('closing_documents').selectAll().where('id', '=', id),
  )
  if (row !== undefined) return row
  throw new DocumentError(
    'document_not_found',
    `there is no document ${id}: gateway documents list shows them`,
    { id },
  )
}

interface MarkedClosing {
  readonly id: string
  readonly state: ClosingRow['state']
  readonly at: number
  readonly operator: string
}

/** Records that a document was sent or signed. @throws DocumentError when it does not exist */
export async function markClosing(
  records: Records,
  { id, state, at, operator }: MarkedClosing,
): Promise<void> {
  const { account_id: accountId } = await findClosing(records, id)
  const { build } = records
  await records.write([
    { write: build.updateTable('closing_documents').set({ state }).where('id', '=', id), rows: 1 },
    actionStep(records, { operator, action: 'mark-document', accountId, reason: `${id}: ${state}`, at }),
  ])
}

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
 * Issues a document again under the same number with the company's current details: a correction (исправление). Its
 * amount is unchanged; over- and undercharges go into the next month's document.
 *
 * @throws DocumentError when the document does not exist, or the reason cannot be printed
 */
export async function correctClosing(
  records: Records,
  seller: Seller,
  { id, reason, at, operator }: ClosingCorrection,
): Promise<StoredClosing> {
  const text = cleanText(reason)
  const problem = checkText(text, reasonLengthMax)
  if (problem !== undefined)
    throw new DocumentError('reason_unprintable', `the reason ${describeProblem(problem)}`)
  const row = await findClosing(records, id)
  if (row.seller_inn !== seller.inn)
    throw new DocumentError(
      'seller_other',
      `the document ${id} was issued by another seller, INN ${row.seller_inn}`,
      { id, inn: row.seller_inn },
    )
  const buyer = await currentCompany(records, row.account_id)
  if (buyer === undefined)
    throw new DocumentError('company_missing', `the document ${id} has no company`, {
      account: row.account_id,
    })
  const issuer = await keepFacsimile(records, seller, at)
  // After a concurrent correction, this one takes the next number.
  return retryConflicts(attemptsMax, async () => {
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
  })
}

/** The latest issue of a document. */
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
  if (row === undefined)
    throw new DocumentError('document_not_found', `the document ${number} of ${year} is not there any more`, {
      id: `${number} / ${year}`,
    })
  return storedClosing(row)
}
