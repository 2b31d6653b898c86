import type { RowOf, SqlOf, TableWords } from '../shared/store-schema.ts'
import type { ExpressionBuilder } from 'kysely'
import type { RecordTables } from './records.ts'

/** Columns of the tables below. */
export const documentColumns = {
  /** A version of a company's details; the newest is current, older ones are on older documents. */
  companies: {
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    version: 'INTEGER NOT NULL',
    inn: 'TEXT NOT NULL',
    /** `CompanyDetails` as JSON. */
    details: 'TEXT NOT NULL',
    created_at: 'BIGINT NOT NULL',
  },
  /** An invoice, numbered by seller and year from 1 without a gap. Amounts are kopecks, days ISO in Moscow. */
  invoices: {
    id: 'TEXT PRIMARY KEY',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    seller_inn: 'TEXT NOT NULL',
    year: 'INTEGER NOT NULL',
    number: 'INTEGER NOT NULL CHECK (number > 0)',
    date: 'TEXT NOT NULL',
    pay_until: 'TEXT NOT NULL',
    amount_kopecks: 'BIGINT NOT NULL CHECK (amount_kopecks > 0)',
    buyer_inn: 'TEXT NOT NULL',
    /** The content of the document, as JSON. */
    document: 'TEXT NOT NULL',
    /** Part of the address of its public page: 32 random bytes. */
    token: 'TEXT' as SqlOf<string>,
    created_at: 'BIGINT NOT NULL',
    cancelled_at: 'BIGINT',
  },
  /** Money that arrived at the seller's bank. */
  transfers: {
    /** The key that identifies a payment in every statement. */
    id: 'TEXT PRIMARY KEY',
    received_on: 'TEXT NOT NULL',
    number: 'TEXT NOT NULL',
    date: 'TEXT NOT NULL',
    amount_kopecks: 'BIGINT NOT NULL CHECK (amount_kopecks > 0)',
    payer_inn: 'TEXT NOT NULL',
    payer_name: 'TEXT NOT NULL',
    payer_account: 'TEXT NOT NULL',
    purpose: 'TEXT NOT NULL',
    state: `TEXT NOT NULL CHECK (state IN ('queued', 'credited', 'returned'))`,
    /** Why a person must check it, or which rule matched. */
    reason: 'TEXT NOT NULL',
    /** Accounts that it may belong to, as JSON. */
    suggestions: 'TEXT NOT NULL',
    account_id: 'TEXT REFERENCES accounts (id)',
    invoice_id: 'TEXT REFERENCES invoices (id)',
    /** How often it has changed; part of the names of its entries in the ledger. */
    revision: 'INTEGER NOT NULL',
    imported_at: 'BIGINT NOT NULL',
  },
  /** What was done with a transfer; an undo is a row of its own. */
  transfer_changes: {
    transfer_id: 'TEXT NOT NULL REFERENCES transfers (id)',
    revision: 'INTEGER NOT NULL',
    action: `TEXT NOT NULL CHECK (action IN ('credit', 'assign', 'return', 'undo'))`,
    account_id: 'TEXT',
    note: 'TEXT NOT NULL',
    at: 'BIGINT NOT NULL',
  },
  /** An act or universal transfer document, numbered by seller and year from 1 without a gap. */
  closing_documents: {
    id: 'TEXT PRIMARY KEY',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    seller_inn: 'TEXT NOT NULL',
    year: 'INTEGER NOT NULL',
    number: 'INTEGER NOT NULL CHECK (number > 0)',
    /** 0, or the number of the correction of the document with the same number. */
    correction: 'INTEGER NOT NULL DEFAULT 0',
    /** `2026-11`. */
    month: 'TEXT NOT NULL',
    date: 'TEXT NOT NULL',
    kind: `TEXT NOT NULL CHECK (kind IN ('act', 'upd'))`,
    amount_kopecks: 'BIGINT NOT NULL CHECK (amount_kopecks > 0)',
    vat_kopecks: 'BIGINT NOT NULL CHECK (vat_kopecks BETWEEN 0 AND amount_kopecks)',
    buyer_inn: 'TEXT NOT NULL',
    document: 'TEXT NOT NULL',
    state: `TEXT NOT NULL DEFAULT 'issued' CHECK (state IN ('issued', 'sent', 'signed'))`,
    created_at: 'BIGINT NOT NULL',
  },
  /** A month whose documents have all been issued. */
  closed_months: {
    seller_inn: 'TEXT NOT NULL',
    month: 'TEXT NOT NULL',
    closed_at: 'BIGINT NOT NULL',
  },
  /** An email about a document: written with the change that it reports, sent by the node that claims it first. */
  document_emails: {
    kind: `TEXT NOT NULL CHECK (kind IN ('invoice-made', 'invoice-reminder', 'invoice-overdue', 'closing-issued'))`,
    /** Of an invoice or a closing document. */
    document_id: 'TEXT NOT NULL',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    state: `TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'dropped'))`,
    /** Until then no other node sends it. */
    taken_until: 'BIGINT NOT NULL',
    attempts: 'INTEGER NOT NULL',
    created_at: 'BIGINT NOT NULL',
    ended_at: 'BIGINT',
  },
  /**
   * An image of signature and stamp, stored by its content: a document prints the same after the file has changed. Rows
   * are large, so on SQLite they are not in the tree of the primary key.
   */
  facsimiles: {
    /** The SHA-256 of the image's URL, in hex. */
    id: 'TEXT PRIMARY KEY',
    /** `data:image/png;base64,...` */
    image: 'TEXT NOT NULL',
    /** Milliseconds since the epoch. */
    kept_at: 'BIGINT NOT NULL',
  },
  /**
   * The part of a transfer that pays an invoice. It counts while the transfer has this revision: an undone one pays
   * none.
   */
  invoice_parts: {
    transfer_id: 'TEXT NOT NULL REFERENCES transfers (id)',
    revision: 'INTEGER NOT NULL',
    invoice_id: 'TEXT NOT NULL REFERENCES invoices (id)',
    amount_kopecks: 'BIGINT NOT NULL CHECK (amount_kopecks > 0)',
  },
} as const

export type InvoiceRow = RowOf<typeof documentColumns.invoices>
export type TransferRow = RowOf<typeof documentColumns.transfers>
export type ClosingRow = RowOf<typeof documentColumns.closing_documents>
export type DocumentEmailRow = RowOf<typeof documentColumns.document_emails>

/** Tables of issued rows, with the columns that may still change: the content and the owner of a document never do. */
const issued = [
  ['invoices', ['token', 'cancelled_at']],
  ['closing_documents', ['state']],
  ['closed_months', []],
  ['transfers', ['state', 'reason', 'suggestions', 'account_id', 'invoice_id', 'revision']],
  ['transfer_changes', []],
  ['companies', []],
] as const

/** Documents and emails about them. Issued documents cannot be changed. */
export function documentTables({ table, largeOptions, refuse, appendOnly }: TableWords): string {
  const message = 'what was issued is not changed'
  const refusals = issued.flatMap(([table, changing]) => {
    const fixed = Object.keys(documentColumns[table]).filter(column => !changing.some(one => one === column))
    return [
      refuse({ name: `${table}_stay_as_they_are`, table, when: `UPDATE OF ${fixed.join(', ')}`, message }),
      refuse({ name: `${table}_stay`, table, when: 'DELETE', message }),
    ]
  })
  return `
${table(documentColumns, 'companies', ['PRIMARY KEY (account_id, version)'])}
CREATE INDEX companies_by_inn ON companies (inn);

${table(documentColumns, 'invoices', ['UNIQUE (seller_inn, year, number)'])}
CREATE INDEX invoices_by_account ON invoices (account_id, id);
CREATE INDEX invoices_by_number ON invoices (number);
CREATE UNIQUE INDEX invoices_by_token ON invoices (token);

${table(documentColumns, 'transfers', [`CHECK ((state = 'credited') = (account_id IS NOT NULL))`])}
CREATE INDEX transfers_by_day ON transfers (received_on, id);
CREATE INDEX transfers_by_account ON transfers (account_id, received_on) WHERE account_id IS NOT NULL;
CREATE INDEX transfers_queued ON transfers (received_on) WHERE state = 'queued';
CREATE INDEX transfers_by_invoice ON transfers (invoice_id) WHERE invoice_id IS NOT NULL;

${table(documentColumns, 'transfer_changes', ['PRIMARY KEY (transfer_id, revision)'])}
CREATE INDEX transfer_changes_by_time ON transfer_changes (at);

${table(documentColumns, 'closing_documents', [
  'UNIQUE (seller_inn, year, number, correction)',
  'UNIQUE (account_id, seller_inn, month, correction)',
])}
CREATE INDEX closing_documents_by_month ON closing_documents (month);

${table(documentColumns, 'closed_months', ['PRIMARY KEY (seller_inn, month)'])}

CREATE INDEX entries_of_repayments ON entries (account_id, at) WHERE kind = 'repayment';

${table(documentColumns, 'document_emails', [
  'PRIMARY KEY (document_id, kind)',
  `CHECK ((state = 'waiting') = (ended_at IS NULL))`,
])}
CREATE INDEX document_emails_waiting ON document_emails (taken_until) WHERE state = 'waiting';
${refusals.join('\n')}

${table(documentColumns, 'facsimiles', [], largeOptions)}
${appendOnly('facsimiles', message)}
`
}

/** Parts of transfers, including one for each transfer that was credited before there were parts. */
export function invoicePartTables({ table, appendOnly }: TableWords): string {
  return `
${table(documentColumns, 'invoice_parts', ['PRIMARY KEY (transfer_id, revision, invoice_id)'])}
CREATE INDEX invoice_parts_by_invoice ON invoice_parts (invoice_id);
INSERT INTO invoice_parts SELECT id, revision, invoice_id, amount_kopecks FROM transfers
  WHERE state = 'credited' AND invoice_id IS NOT NULL;
${appendOnly('invoice_parts', 'what was issued is not changed')}
`
}

/** What has been paid for an invoice, as a subquery of a query that reads or changes invoices. */
export function paidParts(invoice: ExpressionBuilder<RecordTables, 'invoices'>) {
  return invoice
    .selectFrom('invoice_parts')
    .innerJoin('transfers', 'transfers.id', 'invoice_parts.transfer_id')
    .select(part =>
      part.fn.coalesce(part.fn.sum<number>('invoice_parts.amount_kopecks'), part.lit(0)).as('paid'),
    )
    .whereRef('invoice_parts.invoice_id', '=', 'invoices.id')
    .whereRef('invoice_parts.revision', '=', 'transfers.revision')
}
