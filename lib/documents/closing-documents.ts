import { actionStep } from '../administration/operator-log.ts'
import type { ClosingRow } from '../stores/records/document-tables.ts'
import type { RecordReader, Records } from '../stores/records/records.ts'
import { storedClosing } from './closing-rows.ts'
import type { StoredClosing } from './closing-rows.ts'
import { DocumentError } from './document-error.ts'

/** Which documents are asked for; absent means all. */
interface ClosingFilter {
  readonly accountId?: string
  /** `2026-11`. */
  readonly month?: string
  readonly year?: number
}

/** Acts and universal transfer documents with their corrections, by month and number. */
export async function listClosing(
  records: RecordReader,
  { accountId, month, year }: ClosingFilter = {},
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
  if (year !== undefined) query = query.where('year', '=', year)
  return (await records.all(query)).map(storedClosing)
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

/** Some of the documents of all accounts. */
export async function searchClosing(
  records: RecordReader,
  { month, state, text, sort, isDescending, limit, offset }: ClosingSearch,
): Promise<readonly StoredClosing[]> {
  const order = isDescending ? 'desc' : 'asc'
  let query = records.build.selectFrom('closing_documents').selectAll().limit(limit).offset(offset)
  if (sort === 'amount') query = query.orderBy('amount_kopecks', order)
  query = query.orderBy('month', order).orderBy('year', order).orderBy('number', order).orderBy('id')
  if (month !== '') query = query.where('month', '=', month)
  if (state !== undefined) query = query.where('state', '=', state)
  if (text !== '')
    query = query.where(row => row.or([row('account_id', '=', text), row('buyer_inn', '=', text)]))
  return (await records.all(query)).map(storedClosing)
}

/** @throws DocumentError when there is none */
export async function findClosing(records: RecordReader, id: string): Promise<ClosingRow> {
  const [row] = await records.all(
    records.build.selectFrom('closing_documents').selectAll().where('id', '=', id),
  )
  if (row !== undefined) return row
  throw new DocumentError(`there is no document ${id}: gateway documents list shows them`)
}

interface MarkedClosing {
  readonly id: string
  readonly state: ClosingRow['state']
  readonly at: number
  readonly operator: string
}

/** Notes that a document was sent or signed. @throws DocumentError when there is none */
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
