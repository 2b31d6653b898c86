import type { TableWords } from '../shared/store-schema.ts'

/** A version of a company's details; the newest counts, older ones stand on older documents. */
interface CompanyRow {
  readonly account_id: string
  readonly version: number
  readonly inn: string
  /** `CompanyDetails` as JSON. */
  readonly details: string
  readonly created_at: number
}

/** An invoice, numbered by seller and year from 1 without a gap. Amounts are kopecks, days ISO in Moscow. */
export interface InvoiceRow {
  readonly id: string
  readonly account_id: string
  readonly seller_inn: string
  readonly year: number
  readonly number: number
  readonly date: string
  readonly pay_until: string
  readonly amount_kopecks: number
  readonly buyer_inn: string
  /** What stands on it, as JSON. */
  readonly document: string
  readonly created_at: number
  readonly cancelled_at: number | null
  /** In the address of its public page: 32 random bytes. */
  readonly token: string
}

/** Money that came to the seller's bank. */
export interface TransferRow {
  /** The key by which a payment is the same in every statement. */
  readonly id: string
  readonly received_on: string
  readonly number: string
  readonly date: string
  readonly amount_kopecks: number
  readonly payer_inn: string
  readonly payer_name: string
  readonly payer_account: string
  readonly purpose: string
  readonly state: 'queued' | 'credited' | 'returned'
  /** Why a person must look at it, or which rule matched. */
  readonly reason: string
  /** Accounts that it may belong to, as JSON. */
  readonly suggestions: string
  readonly account_id: string | null
  readonly invoice_id: string | null
  /** How often it has changed; names its entries in the ledger. */
  readonly revision: number
  readonly imported_at: number
}

/** What was done with a transfer, and by the same row what undid it. */
interface TransferChangeRow {
  readonly transfer_id: string
  readonly revision: number
  readonly action: 'credit' | 'assign' | 'return' | 'undo'
  readonly account_id: string | null
  readonly note: string
  readonly at: number
}

/** An act or universal transfer document, numbered by seller and year from 1 without a gap. */
export interface ClosingRow {
  readonly id: string
  readonly account_id: string
  readonly seller_inn: string
  readonly year: number
  readonly number: number
  /** 0, or which correction of the document with the same number it is. */
  readonly correction: number
  /** `2026-11`. */
  readonly month: string
  readonly date: string
  readonly kind: 'act' | 'upd'
  readonly amount_kopecks: number
  readonly vat_kopecks: number
  readonly buyer_inn: string
  readonly document: string
  readonly state: 'issued' | 'sent' | 'signed'
  readonly created_at: number
}

/** A month that has all its documents. */
interface ClosedMonthRow {
  readonly seller_inn: string
  readonly month: string
  readonly closed_at: number
}

/** Tables of companies and their documents. */
export interface DocumentTables {
  readonly companies: CompanyRow
  readonly invoices: InvoiceRow
  readonly transfers: TransferRow
  readonly transfer_changes: TransferChangeRow
  readonly closing_documents: ClosingRow
  readonly closed_months: ClosedMonthRow
}

/** Documents. */
export function documentTables(words: TableWords): string {
  return companyTables(words) + transferTables(words) + closingTables(words)
}

function companyTables({ integer, options }: TableWords): string {
  return `
CREATE TABLE companies (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  version INTEGER NOT NULL,
  inn TEXT NOT NULL,
  details TEXT NOT NULL,
  created_at ${integer} NOT NULL,
  PRIMARY KEY (account_id, version)
)${options};
CREATE INDEX companies_by_inn ON companies (inn);

CREATE TABLE invoices (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  seller_inn TEXT NOT NULL,
  year INTEGER NOT NULL,
  number INTEGER NOT NULL CHECK (number > 0),
  date TEXT NOT NULL,
  pay_until TEXT NOT NULL,
  amount_kopecks ${integer} NOT NULL CHECK (amount_kopecks > 0),
  buyer_inn TEXT NOT NULL,
  document TEXT NOT NULL,
  token TEXT,
  created_at ${integer} NOT NULL,
  cancelled_at ${integer},
  UNIQUE (seller_inn, year, number)
)${options};
CREATE INDEX invoices_by_account ON invoices (account_id, id);
CREATE INDEX invoices_by_number ON invoices (number);
CREATE UNIQUE INDEX invoices_by_token ON invoices (token);
`
}

function transferTables({ integer, options }: TableWords): string {
  return `
CREATE TABLE transfers (
  id TEXT PRIMARY KEY,
  received_on TEXT NOT NULL,
  number TEXT NOT NULL,
  date TEXT NOT NULL,
  amount_kopecks ${integer} NOT NULL CHECK (amount_kopecks > 0),
  payer_inn TEXT NOT NULL,
  payer_name TEXT NOT NULL,
  payer_account TEXT NOT NULL,
  purpose TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'credited', 'returned')),
  reason TEXT NOT NULL,
  suggestions TEXT NOT NULL,
  account_id TEXT REFERENCES accounts (id),
  invoice_id TEXT REFERENCES invoices (id),
  revision INTEGER NOT NULL,
  imported_at ${integer} NOT NULL,
  CHECK ((state = 'credited') = (account_id IS NOT NULL))
)${options};
CREATE INDEX transfers_by_account ON transfers (account_id, received_on) WHERE account_id IS NOT NULL;
CREATE INDEX transfers_queued ON transfers (received_on) WHERE state = 'queued';
CREATE INDEX transfers_by_invoice ON transfers (invoice_id) WHERE invoice_id IS NOT NULL;

CREATE TABLE transfer_changes (
  transfer_id TEXT NOT NULL REFERENCES transfers (id),
  revision INTEGER NOT NULL,
  action TEXT NOT NULL CHECK (action IN ('credit', 'assign', 'return', 'undo')),
  account_id TEXT,
  note TEXT NOT NULL,
  at ${integer} NOT NULL,
  PRIMARY KEY (transfer_id, revision)
)${options};
`
}

function closingTables({ integer, options }: TableWords): string {
  return `
CREATE TABLE closing_documents (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  seller_inn TEXT NOT NULL,
  year INTEGER NOT NULL,
  number INTEGER NOT NULL CHECK (number > 0),
  correction INTEGER NOT NULL DEFAULT 0,
  month TEXT NOT NULL,
  date TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('act', 'upd')),
  amount_kopecks ${integer} NOT NULL CHECK (amount_kopecks > 0),
  vat_kopecks ${integer} NOT NULL CHECK (vat_kopecks BETWEEN 0 AND amount_kopecks),
  buyer_inn TEXT NOT NULL,
  document TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'issued' CHECK (state IN ('issued', 'sent', 'signed')),
  created_at ${integer} NOT NULL,
  UNIQUE (seller_inn, year, number, correction),
  UNIQUE (account_id, seller_inn, month, correction)
)${options};
CREATE INDEX closing_documents_by_month ON closing_documents (month);

CREATE TABLE closed_months (
  seller_inn TEXT NOT NULL,
  month TEXT NOT NULL,
  closed_at ${integer} NOT NULL,
  PRIMARY KEY (seller_inn, month)
)${options};

CREATE INDEX entries_of_repayments ON entries (account_id, at) WHERE kind = 'repayment';
`
}

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

/** An image of signature and stamp, kept by its bytes: a document prints the same after the file has changed. */
interface FacsimileRow {
  /** The SHA-256 of the image's URL, in hex. */
  readonly id: string
  /** `data:image/png;base64,...` */
  readonly image: string
  /** Milliseconds since the epoch. */
  readonly kept_at: number
}

/** The table of facsimiles. */
export interface FacsimileTables {
  readonly facsimiles: FacsimileRow
}

/** Facsimiles, append-only. Rows are large, so they do not lie in the tree of the keys. */
export function facsimileTables({ integer, largeOptions, appendOnly }: TableWords): string {
  return `
CREATE TABLE facsimiles (
  id TEXT PRIMARY KEY,
  image TEXT NOT NULL,
  kept_at ${integer} NOT NULL
)${largeOptions};
${appendOnly('facsimiles', 'what was issued is not changed')}
`
}
