import type { DocumentEmailRow } from '../stores/records/document-tables.ts'
import { tryWrite } from '../stores/records/records.ts'
import type { RecordStep, Records, RecordReader } from '../stores/records/records.ts'

/** Longer than printing a document and all attempts to deliver it take. */
const takenMs = 5 * 60_000
const retryMsMin = 60_000
const retryMsMax = 60 * 60_000
/** Nobody wants to hear of an invoice so late: the server had no mail all the time. */
const droppedAfterMs = 7 * 24 * 60 * 60_000
const batchSize = 20

/**
 * Takes emails that are to be sent, so that no other node sends them. What is not ended in time, because of a crash,
 * is taken again.
 */
export async function takeDocumentEmails(
  records: Records,
  now: number,
): Promise<readonly DocumentEmailRow[]> {
  const { build } = records
  const waiting = await records.all(
    build
      .selectFrom('document_emails')
      .selectAll()
      .where('state', '=', 'waiting')
      .where('taken_until', '<=', now)
      .orderBy('created_at')
      .limit(batchSize),
  )
  const taken: DocumentEmailRow[] = []
  for (const row of waiting) {
    if (row.created_at <= now - droppedAfterMs) {
      await endDocumentEmail(records, row, 'dropped', now)
      continue
    }
    const next = { taken_until: now + takenMs, attempts: row.attempts + 1 }
    const write = build
      .updateTable('document_emails')
      .set(next)
      .where('document_id', '=', row.document_id)
      .where('kind', '=', row.kind)
      .where('state', '=', 'waiting')
      .where('attempts', '=', row.attempts)
    if (await tryWrite(records, [{ write, rows: 1 }])) taken.push({ ...row, ...next })
  }
  return taken
}

/** Ends an email: sent, or dropped, as there is nothing to tell any more. A closing document counts as sent with it. */
export async function endDocumentEmail(
  records: Records,
  { document_id, kind }: DocumentEmailRow,
  state: 'sent' | 'dropped',
  now: number,
): Promise<void> {
  const { build } = records
  const ended = build
    .updateTable('document_emails')
    .set({ state, ended_at: now })
    .where('document_id', '=', document_id)
    .where('kind', '=', kind)
    .where('state', '=', 'waiting')
  const marked = build
    .updateTable('closing_documents')
    .set({ state: 'sent' })
    .where('id', '=', document_id)
    .where('state', '=', 'issued')
  const isClosing = kind === 'closing-issued' && state === 'sent'
  await records.write([{ write: ended }, ...(isClosing ? [{ write: marked }] : [])])
}

/** Has an email that could not be sent tried again, after twice as long each time. */
export async function postponeDocumentEmail(
  records: Records,
  { document_id, kind, attempts }: DocumentEmailRow,
  now: number,
): Promise<void> {
  const waitMs = Math.min(retryMsMin * 2 ** (attempts - 1), retryMsMax)
  const write = records.build
    .updateTable('document_emails')
    .set({ taken_until: now + waitMs })
    .where('document_id', '=', document_id)
    .where('kind', '=', kind)
    .where('attempts', '=', attempts)
  await records.write([{ write }])
}

/** Has an email about a document sent, with the transaction that makes it necessary; once for each kind. */
export function documentEmailStep(
  records: RecordReader,
  email: Pick<DocumentEmailRow, 'kind' | 'document_id' | 'account_id' | 'created_at'>,
): RecordStep {
  const row: DocumentEmailRow = { ...email, state: 'waiting', taken_until: 0, attempts: 0, ended_at: null }
  return {
    write: records.build
      .insertInto('document_emails')
      .values(row)
      .onConflict(conflict => conflict.doNothing()),
  }
}
