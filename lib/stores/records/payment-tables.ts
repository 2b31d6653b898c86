import type { RowOf, SqlOf, TableWords } from '../shared/store-schema.ts'

/** Columns of the tables below. */
export const paymentColumns = {
  /** A payment that a customer makes through a payment provider. Times are milliseconds since the epoch. */
  payments: {
    id: 'TEXT PRIMARY KEY',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    provider: 'TEXT NOT NULL',
    /** The provider's own id; null until the provider has responded. */
    provider_id: 'TEXT',
    /** 1 when no real money moves: a test shop, or the sandbox. */
    is_test: 'INTEGER',
    state: `TEXT NOT NULL CHECK (state IN ('created', 'pending', 'succeeded', 'canceled'))`,
    method: 'TEXT' as SqlOf<'bank_card' | 'sbp' | null>,
    origin: `TEXT NOT NULL CHECK (origin IN ('customer', 'operator', 'automatic'))`,
    amount_micros: 'BIGINT NOT NULL CHECK (amount_micros > 0)',
    /** What refunds have returned or are about to return. */
    refunded_micros: 'BIGINT NOT NULL DEFAULT 0 CHECK (refunded_micros BETWEEN 0 AND amount_micros)',
    /** What receipts report as used, of money that was paid before it was spent. */
    offset_micros: `BIGINT NOT NULL DEFAULT 0
    CHECK (offset_micros >= 0 AND refunded_micros + offset_micros <= amount_micros)`,
    receipt_email: 'TEXT NOT NULL',
    idempotence_key: 'TEXT NOT NULL UNIQUE',
    /** The exact body that creates it at the provider, the same in each attempt. */
    request: 'TEXT NOT NULL',
    /** When it was first sent. */
    requested_at: 'BIGINT',
    confirmation_url: 'TEXT',
    /** The card or the bank, as the provider names it. */
    method_title: 'TEXT',
    /** The saved card that an automatic top-up charges. */
    saved_method_id: 'TEXT',
    /** Why it failed: the provider's reason, or our own. */
    failure: 'TEXT',
    /** What the provider reports differently from our row: nothing is credited then. */
    difference: 'TEXT',
    created_at: 'BIGINT NOT NULL',
    credited_at: 'BIGINT',
    ended_at: 'BIGINT',
    /** When the provider is polled next; null when nothing more is expected. */
    next_poll_at: 'BIGINT',
    polls: 'INTEGER NOT NULL DEFAULT 0',
  },
  /** Money that goes back to the payer. */
  refunds: {
    id: 'TEXT PRIMARY KEY',
    payment_id: 'TEXT NOT NULL REFERENCES payments (id)',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    provider_id: 'TEXT UNIQUE',
    state: `TEXT NOT NULL CHECK (state IN ('created', 'pending', 'succeeded', 'canceled'))`,
    amount_micros: 'BIGINT NOT NULL CHECK (amount_micros > 0)',
    reason: 'TEXT NOT NULL',
    idempotence_key: 'TEXT NOT NULL UNIQUE',
    request: 'TEXT NOT NULL',
    requested_at: 'BIGINT',
    failure: 'TEXT',
    created_at: 'BIGINT NOT NULL',
    ended_at: 'BIGINT',
    next_poll_at: 'BIGINT',
    polls: 'INTEGER NOT NULL DEFAULT 0',
  },
  /** A fiscal receipt: for a payment, for a refund, or for the use of money that was paid before. */
  receipts: {
    id: 'TEXT PRIMARY KEY',
    kind: `TEXT NOT NULL CHECK (kind IN ('payment', 'refund', 'offset'))`,
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    payment_id: 'TEXT NOT NULL REFERENCES payments (id)',
    refund_id: 'TEXT REFERENCES refunds (id)',
    /** For an offset its month: `2026-11`. */
    month: 'TEXT',
    provider_id: 'TEXT',
    state: `TEXT NOT NULL CHECK (state IN ('created', 'pending', 'succeeded', 'canceled'))`,
    amount_micros: 'BIGINT NOT NULL CHECK (amount_micros > 0)',
    /** The body that requests it; null when it was requested with its payment or refund. */
    request: 'TEXT',
    idempotence_key: 'TEXT UNIQUE',
    requested_at: 'BIGINT',
    /** Fiscal document, storage and attribute, as the tax office knows them. */
    document_number: 'TEXT',
    storage_number: 'TEXT',
    attribute: 'TEXT',
    registered_at: 'BIGINT',
    attempts: 'INTEGER NOT NULL DEFAULT 0',
    created_at: 'BIGINT NOT NULL',
    next_poll_at: 'BIGINT',
  },
  /** A card that its owner allows the gateway to charge again. */
  saved_cards: {
    /** The id of the payment that saved it. */
    id: 'TEXT PRIMARY KEY REFERENCES payments (id)',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    provider: 'TEXT NOT NULL',
    /** The provider's id for charging it; null once it is forgotten. */
    method_id: 'TEXT',
    /** As the provider names it: `Bank card *4477`. */
    title: 'TEXT NOT NULL',
    saved_at: 'BIGINT NOT NULL',
    forgotten_at: 'BIGINT',
    forgotten_by: `TEXT CHECK (forgotten_by IN ('owner', 'provider'))`,
  },
  /** When and by how much an account is topped up automatically. */
  auto_top_ups: {
    account_id: 'TEXT PRIMARY KEY REFERENCES accounts (id)',
    card_id: 'TEXT NOT NULL REFERENCES saved_cards (id)',
    state: `TEXT NOT NULL CHECK (state IN ('on', 'off'))`,
    /** Why it is off: the owner turned it off, the card was unlinked, or too many attempts failed. */
    off_reason: `TEXT CHECK (off_reason IN ('owner', 'card', 'failures'))`,
    below_micros: 'BIGINT NOT NULL CHECK (below_micros > 0)',
    amount_micros: 'BIGINT NOT NULL CHECK (amount_micros > 0)',
    /** The most that may be charged in a calendar month in Moscow. */
    month_max_micros: 'BIGINT NOT NULL CHECK (month_max_micros >= amount_micros)',
    /** Failed attempts since the last successful one. */
    failures: 'INTEGER NOT NULL DEFAULT 0',
    /** No attempt before this time; milliseconds since the epoch. */
    next_at: 'BIGINT NOT NULL',
    /** Changes with every attempt and every setting, so that only one of several nodes makes the attempt. */
    revision: 'INTEGER NOT NULL DEFAULT 0',
    changed_at: 'BIGINT NOT NULL',
  },
  /** An email to the owners of an account, due since the transaction that it reports. */
  notices: {
    id: 'TEXT PRIMARY KEY',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    kind: 'TEXT NOT NULL',
    /** What it is about: the id of a row, or a text. */
    subject: 'TEXT NOT NULL',
    created_at: 'BIGINT NOT NULL',
    /** When it is sent next. */
    next_at: 'BIGINT NOT NULL',
  },
} as const

export type PaymentRow = RowOf<typeof paymentColumns.payments>
export type RefundRow = RowOf<typeof paymentColumns.refunds>
export type ReceiptRow = RowOf<typeof paymentColumns.receipts>
export type SavedCardRow = RowOf<typeof paymentColumns.saved_cards>
export type AutoTopUpRow = RowOf<typeof paymentColumns.auto_top_ups>
export type NoticeRow = RowOf<typeof paymentColumns.notices>

/** Payments, refunds and receipts; saved cards and automatic top-ups. */
export function paymentTables({ table }: TableWords): string {
  return `
${table(paymentColumns, 'payments', [
  'UNIQUE (provider, provider_id)',
  `CHECK ((state = 'succeeded') = (credited_at IS NOT NULL))`,
  `CHECK ((state IN ('succeeded', 'canceled')) = (ended_at IS NOT NULL))`,
])}
CREATE INDEX payments_by_account ON payments (account_id, id);
CREATE INDEX payments_by_state ON payments (state, id);
CREATE INDEX payments_by_amount ON payments (amount_micros, id);
CREATE INDEX payments_credited ON payments (credited_at) WHERE credited_at IS NOT NULL;
CREATE INDEX payments_differing ON payments (id) WHERE difference IS NOT NULL;
CREATE INDEX payments_due ON payments (next_poll_at) WHERE next_poll_at IS NOT NULL;
CREATE INDEX payments_unused ON payments (account_id)
  WHERE state = 'succeeded' AND amount_micros > refunded_micros + offset_micros;
CREATE UNIQUE INDEX payments_automatic ON payments (account_id)
  WHERE origin = 'automatic' AND state IN ('created', 'pending');

${table(paymentColumns, 'refunds', [`CHECK ((state IN ('succeeded', 'canceled')) = (ended_at IS NOT NULL))`])}
CREATE INDEX refunds_by_payment ON refunds (payment_id);
CREATE INDEX refunds_ended ON refunds (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX refunds_due ON refunds (next_poll_at) WHERE next_poll_at IS NOT NULL;

${table(paymentColumns, 'receipts', ['UNIQUE (kind, payment_id, refund_id, month)'])}
CREATE INDEX receipts_by_account ON receipts (account_id, id);
CREATE INDEX receipts_by_payment ON receipts (payment_id);
CREATE INDEX receipts_due ON receipts (next_poll_at) WHERE next_poll_at IS NOT NULL;
CREATE UNIQUE INDEX receipts_of_payment ON receipts (payment_id) WHERE kind = 'payment';
CREATE UNIQUE INDEX receipts_of_refund ON receipts (refund_id) WHERE kind = 'refund';
CREATE INDEX receipts_by_provider ON receipts (provider_id) WHERE provider_id IS NOT NULL;
CREATE UNIQUE INDEX receipts_of_month ON receipts (payment_id, month) WHERE kind = 'offset';

${table(paymentColumns, 'saved_cards', [
  'CHECK ((method_id IS NULL) = (forgotten_at IS NOT NULL))',
  'CHECK ((forgotten_at IS NULL) = (forgotten_by IS NULL))',
])}
CREATE INDEX saved_cards_of_account ON saved_cards (account_id) WHERE forgotten_at IS NULL;

${table(paymentColumns, 'auto_top_ups', [`CHECK ((state = 'off') = (off_reason IS NOT NULL))`])}
CREATE INDEX auto_top_ups_on ON auto_top_ups (next_at) WHERE state = 'on';

${table(paymentColumns, 'notices')}
CREATE INDEX notices_due ON notices (next_at);
`
}
