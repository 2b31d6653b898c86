import type { DocumentEmailRow } from '../stores/records/document-email-tables.ts'
import type { RecordReader, RecordStep } from '../stores/records/records.ts'

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
