import type { Generated, Insertable, Selectable } from 'kysely'
import type { TableWords } from '../shared/store-schema.ts'

export type { Insertable }

/** A row as it is read. */
export type Stored<Row> = Readonly<Selectable<Row>>

/** A payment: money that a customer sends by a payment provider. Times are milliseconds since the epoch. */
export interface PaymentRow {
  readonly id: string
  readonly account_id: string
  readonly provider: string
  /** The provider's own id; null until the provider has answered. */
  readonly provider_id: string | null
  /** 1 where no real money moves: a test shop, or the sandbox. */
  readonly is_test: number | null
  readonly state: 'created' | 'pending' | 'succeeded' | 'canceled'
  readonly method: 'bank_card' | 'sbp' | null
  readonly origin: 'customer' | 'operator' | 'automatic'
  readonly amount_micros: number
  /** What refunds have returned or are about to. */
  readonly refunded_micros: Generated<number>
  /** What receipts say is used: of money that was paid before it was spent. */
  readonly offset_micros: Generated<number>
  readonly receipt_email: string
  readonly idempotence_key: string
  /** The exact body that creates it at the provider, as it is sent each time. */
  readonly request: string
  /** When it was sent first. */
  readonly requested_at: number | null
  readonly confirmation_url: string | null
  /** The card or the bank, as the provider names it. */
  readonly method_title: string | null
  /** The saved card that is charged, of an automatic top-up. */
  readonly saved_method_id: string | null
  /** Why it failed: the provider's reason, or our own. */
  readonly failure: string | null
  /** What the provider says that our row does not: nothing is credited then. */
  readonly difference: string | null
  readonly created_at: number
  readonly credited_at: number | null
  readonly ended_at: number | null
  /** When the provider is asked next; null when nothing more is expected. */
  readonly next_poll_at: number | null
  readonly polls: Generated<number>
}

/** Money that goes back to who paid. */
export interface RefundRow {
  readonly id: string
  readonly payment_id: string
  readonly account_id: string
  readonly provider_id: string | null
  readonly state: 'created' | 'pending' | 'succeeded' | 'canceled'
  readonly amount_micros: number
  readonly reason: string
  readonly idempotence_key: string
  readonly request: string
  readonly requested_at: number | null
  readonly failure: string | null
  readonly created_at: number
  readonly ended_at: number | null
  readonly next_poll_at: number | null
  readonly polls: Generated<number>
}

/** A fiscal receipt: of a payment, of a refund, or of the use of what was paid before. */
export interface ReceiptRow {
  readonly id: string
  readonly kind: 'payment' | 'refund' | 'offset'
  readonly account_id: string
  readonly payment_id: string
  readonly refund_id: string | null
  /** Of an offset the month, as `2026-11`. */
  readonly month: string | null
  readonly provider_id: string | null
  readonly state: 'created' | 'pending' | 'succeeded' | 'canceled'
  readonly amount_micros: number
  /** The body that asks for it; null when it came with its payment or refund. */
  readonly request: string | null
  readonly idempotence_key: string | null
  readonly requested_at: number | null
  /** Fiscal document, storage and attribute, as the tax office knows them. */
  readonly document_number: string | null
  readonly storage_number: string | null
  readonly attribute: string | null
  readonly registered_at: number | null
  readonly attempts: Generated<number>
  readonly created_at: number
  readonly next_poll_at: number | null
}

/** Tables of money that comes in. */
export interface PaymentTables {
  readonly payments: PaymentRow
  readonly refunds: RefundRow
  readonly receipts: ReceiptRow
}

/** Payments, refunds and receipts. */
export function paymentTables(words: TableWords): string {
  return paymentTable(words) + refundTable(words) + receiptTable(words)
}

function paymentTable({ integer, options }: TableWords): string {
  return `
CREATE TABLE payments (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  provider TEXT NOT NULL,
  provider_id TEXT,
  is_test INTEGER,
  state TEXT NOT NULL CHECK (state IN ('created', 'pending', 'succeeded', 'canceled')),
  method TEXT,
  origin TEXT NOT NULL CHECK (origin IN ('customer', 'operator', 'automatic')),
  amount_micros ${integer} NOT NULL CHECK (amount_micros > 0),
  refunded_micros ${integer} NOT NULL DEFAULT 0 CHECK (refunded_micros BETWEEN 0 AND amount_micros),
  offset_micros ${integer} NOT NULL DEFAULT 0
    CHECK (offset_micros >= 0 AND refunded_micros + offset_micros <= amount_micros),
  receipt_email TEXT NOT NULL,
  idempotence_key TEXT NOT NULL UNIQUE,
  request TEXT NOT NULL,
  requested_at ${integer},
  confirmation_url TEXT,
  method_title TEXT,
  saved_method_id TEXT,
  failure TEXT,
  difference TEXT,
  created_at ${integer} NOT NULL,
  credited_at ${integer},
  ended_at ${integer},
  next_poll_at ${integer},
  polls INTEGER NOT NULL DEFAULT 0,
  UNIQUE (provider, provider_id),
  CHECK ((state = 'succeeded') = (credited_at IS NOT NULL)),
  CHECK ((state IN ('succeeded', 'canceled')) = (ended_at IS NOT NULL))
)${options};
CREATE INDEX payments_by_account ON payments (account_id, id);
CREATE INDEX payments_due ON payments (next_poll_at) WHERE next_poll_at IS NOT NULL;
CREATE INDEX payments_unused ON payments (account_id)
  WHERE state = 'succeeded' AND amount_micros > refunded_micros + offset_micros;
CREATE UNIQUE INDEX payments_automatic ON payments (account_id)
  WHERE origin = 'automatic' AND state IN ('created', 'pending');
`
}

function refundTable({ integer, options }: TableWords): string {
  return `
CREATE TABLE refunds (
  id TEXT PRIMARY KEY,
  payment_id TEXT NOT NULL REFERENCES payments (id),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  provider_id TEXT UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('created', 'pending', 'succeeded', 'canceled')),
  amount_micros ${integer} NOT NULL CHECK (amount_micros > 0),
  reason TEXT NOT NULL,
  idempotence_key TEXT NOT NULL UNIQUE,
  request TEXT NOT NULL,
  requested_at ${integer},
  failure TEXT,
  created_at ${integer} NOT NULL,
  ended_at ${integer},
  next_poll_at ${integer},
  polls INTEGER NOT NULL DEFAULT 0,
  CHECK ((state IN ('succeeded', 'canceled')) = (ended_at IS NOT NULL))
)${options};
CREATE INDEX refunds_by_payment ON refunds (payment_id);
CREATE INDEX refunds_due ON refunds (next_poll_at) WHERE next_poll_at IS NOT NULL;
`
}

function receiptTable({ integer, options }: TableWords): string {
  return `
CREATE TABLE receipts (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('payment', 'refund', 'offset')),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  payment_id TEXT NOT NULL REFERENCES payments (id),
  refund_id TEXT REFERENCES refunds (id),
  month TEXT,
  provider_id TEXT,
  state TEXT NOT NULL CHECK (state IN ('created', 'pending', 'succeeded', 'canceled')),
  amount_micros ${integer} NOT NULL CHECK (amount_micros > 0),
  request TEXT,
  idempotence_key TEXT UNIQUE,
  requested_at ${integer},
  document_number TEXT,
  storage_number TEXT,
  attribute TEXT,
  registered_at ${integer},
  attempts INTEGER NOT NULL DEFAULT 0,
  created_at ${integer} NOT NULL,
  next_poll_at ${integer},
  UNIQUE (kind, payment_id, refund_id, month)
)${options};
CREATE INDEX receipts_by_account ON receipts (account_id, id);
CREATE INDEX receipts_by_payment ON receipts (payment_id);
CREATE INDEX receipts_due ON receipts (next_poll_at) WHERE next_poll_at IS NOT NULL;
CREATE UNIQUE INDEX receipts_of_payment ON receipts (payment_id) WHERE kind = 'payment';
CREATE UNIQUE INDEX receipts_of_refund ON receipts (refund_id) WHERE kind = 'refund';
CREATE INDEX receipts_by_provider ON receipts (provider_id) WHERE provider_id IS NOT NULL;
CREATE UNIQUE INDEX receipts_of_month ON receipts (payment_id, month) WHERE kind = 'offset';
`
}
