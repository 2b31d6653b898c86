import type { TransferRow } from '../stores/records/document-tables.ts'
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
