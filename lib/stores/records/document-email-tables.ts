import type { TableWords } from '../shared/table-words.ts'

/** An email about a document: written with what it tells of, sent by whichever node takes it first. */
export interface DocumentEmailRow {
  readonly kind: 'invoice-made' | 'invoice-reminder' | 'invoice-overdue' | 'closing-issued'
  /** Of an invoice or a closing document. */
  readonly document_id: string
  readonly account_id: string
  readonly state: 'waiting' | 'sent' | 'dropped'
  /** Until then no other node sends it. */
  readonly taken_until: number
  readonly attempts: number
  readonly created_at: number
  readonly ended_at: number | null
}

/** The table of emails about documents. */
export interface DocumentEmailTables {
  readonly document_emails: DocumentEmailRow
}

/** What stands on a document, and of which account it is, never changes. Its state does. */
const fixedColumns = {
  invoices:
    'id, account_id, seller_inn, year, number, date, pay_until, amount_kopecks, buyer_inn, document, created_at',
  closing_documents:
    'id, account_id, seller_inn, year, number, correction, month, date, kind, amount_kopecks, vat_kopecks, buyer_inn, document, created_at',
  closed_months: 'seller_inn, month, closed_at',
  transfers:
    'id, received_on, number, date, amount_kopecks, payer_inn, payer_name, payer_account, purpose, imported_at',
  transfer_changes: 'transfer_id, revision, action, account_id, note, at',
  companies: 'account_id, version, inn, details, created_at',
} as const

/** Emails about documents; and what was issued stays as it is. */
export function documentEmailTables({ integer, options, refuse }: TableWords): string {
  const message = 'what was issued is not changed'
  const refusals = Object.entries(fixedColumns).flatMap(([table, columns]) => [
    refuse({ name: `${table}_stay_as_they_are`, table, when: `UPDATE OF ${columns}`, message }),
    refuse({ name: `${table}_stay`, table, when: 'DELETE', message }),
  ])
  return `
CREATE TABLE document_emails (
  kind TEXT NOT NULL CHECK (kind IN ('invoice-made', 'invoice-reminder', 'invoice-overdue', 'closing-issued')),
  document_id TEXT NOT NULL,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'dropped')),
  taken_until ${integer} NOT NULL,
  attempts INTEGER NOT NULL,
  created_at ${integer} NOT NULL,
  ended_at ${integer},
  PRIMARY KEY (document_id, kind),
  CHECK ((state = 'waiting') = (ended_at IS NULL))
)${options};
CREATE INDEX document_emails_waiting ON document_emails (taken_until) WHERE state = 'waiting';
${refusals.join('\n')}
`
}
