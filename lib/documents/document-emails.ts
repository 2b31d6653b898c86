import type { DocumentEmailRow } from '../stores/records/document-tables.ts'
import { tryWrite } from '../stores/records/records.ts'
import type { RecordStep, Records, RecordReader } from '../stores/records/records.ts'

/** Longer than printing a document and all delivery attempts take. */
const takenMs = 5 * 60_000
const retryMsMin = 60_000
const retryMsMax = 60 * 60_000
/** An email this late is useless: mail must have failed for the whole time. */
const droppedAfterMs = 7 * 24 * 60 * 60_000
const batchSize = 20

/**
 * Claims pending emails, so that no other node sends them. A claim that is not ended in time, because of a crash,
 * expires.
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

/** Ends an email: sent, or dropped because it is no longer relevant. Sending marks a closing document as sent. */
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

/** Retries a failed email later; the delay doubles each time. */
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

/** Queues an email about a document, in the transaction that causes it; once for each kind. */
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
