import type { TransferRow } from '../stores/records/document-tables.ts'
import { contains } from '../stores/records/contains.ts'
import type { RecordReader } from '../stores/records/records.ts'
import { DocumentError } from './document-error.ts'

/** Transfers in a state, or all; the newest first. */
export function listTransfers(
  records: RecordReader,
  state?: TransferRow['state'],
): Promise<readonly TransferRow[]> {
  const all = records.build.selectFrom('transfers').selectAll().orderBy('received_on', 'desc').orderBy('id')
  return records.all(state === undefined ? all : all.where('state', '=', state))
}

interface TransferSearch {
  readonly state?: TransferRow['state'] | undefined
  /** A part of the payer's name, or the INN; empty: any. */
  readonly text: string
  readonly sort: 'day' | 'amount'
  readonly isDescending: boolean
  readonly limit: number
  readonly offset: number
}

/** Transfers that a search finds. */
export function findTransfers(
  records: RecordReader,
  { state, text, sort, isDescending, limit, offset }: TransferSearch,
): Promise<readonly TransferRow[]> {
  const order = isDescending ? 'desc' : 'asc'
  let query = records.build
    .selectFrom('transfers')
    .selectAll()
    .orderBy(sort === 'amount' ? 'amount_kopecks' : 'received_on', order)
    .orderBy('id', order)
    .limit(limit)
    .offset(offset)
  if (state !== undefined) query = query.where('state', '=', state)
  if (text !== '') {
    query = query.where(row => row.or([contains('payer_name', text), row('payer_inn', '=', text)]))
  }
  return records.all(query)
}

/** The transfer whose id begins so. @throws DocumentError unless there is just one */
export async function findTransfer(records: RecordReader, id: string): Promise<TransferRow> {
  const rows = await records.all(
    records.build
      .selectFrom('transfers')
      .selectAll()
      .where('id', '>=', id)
      .where('id', '<', `${id}~`)
      .limit(2),
  )
  const [row] = rows
  if (row !== undefined && rows.length === 1 && id.length >= 6) return row
  throw new DocumentError(
    row === undefined
      ? `there is no transfer ${id}: gateway statement list shows them`
      : `"${id}" is not enough of the transfer's id to tell it: give more of its characters`,
  )
}
