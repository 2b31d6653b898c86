import type { RowOf } from '../shared/row-of.ts'
import type { TableWords } from '../shared/store-schema.ts'

/** Columns of the tables below. */
export const autoTopUpColumns = {
  /** A card that its owner let the gateway charge again. */
  saved_cards: {
    /** The id of the payment by which it was saved. */
    id: 'TEXT PRIMARY KEY REFERENCES payments (id)',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    provider: 'TEXT NOT NULL',
    /** By which the provider charges it; null once it is forgotten. */
    method_id: 'TEXT',
    /** As the provider names it: `Bank card *4477`. */
    title: 'TEXT NOT NULL',
    saved_at: 'BIGINT NOT NULL',
    forgotten_at: 'BIGINT',
    forgotten_by: `TEXT CHECK (forgotten_by IN ('owner', 'provider'))`,
  },
  /** When and by how much an account is topped up by itself. */
  auto_top_ups: {
    account_id: 'TEXT PRIMARY KEY REFERENCES accounts (id)',
    card_id: 'TEXT NOT NULL REFERENCES saved_cards (id)',
    state: `TEXT NOT NULL CHECK (state IN ('on', 'off'))`,
    /** Why it is off: its owner wished so, the card was unlinked, or too many attempts failed. */
    off_reason: `TEXT CHECK (off_reason IN ('owner', 'card', 'failures'))`,
    below_micros: 'BIGINT NOT NULL CHECK (below_micros > 0)',
    amount_micros: 'BIGINT NOT NULL CHECK (amount_micros > 0)',
    /** The most that a calendar month in Moscow may take. */
    month_max_micros: 'BIGINT NOT NULL CHECK (month_max_micros >= amount_micros)',
    /** How many attempts have failed since the last that did not. */
    failures: 'INTEGER NOT NULL DEFAULT 0',
    /** No attempt before; milliseconds since the epoch. */
    next_at: 'BIGINT NOT NULL',
    /** Changes with every attempt and every setting, so that of several nodes one makes the attempt. */
    revision: 'INTEGER NOT NULL DEFAULT 0',
    changed_at: 'BIGINT NOT NULL',
  },
  /** An email to the owners of an account, owed since the transaction that it tells of. */
  notices: {
    id: 'TEXT PRIMARY KEY',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    kind: 'TEXT NOT NULL',
    /** What it tells of: an id of a row, or a text. */
    subject: 'TEXT NOT NULL',
    created_at: 'BIGINT NOT NULL',
    /** When it is sent next. */
    next_at: 'BIGINT NOT NULL',
  },
} as const

export type SavedCardRow = RowOf<typeof autoTopUpColumns.saved_cards>
export type AutoTopUpRow = RowOf<typeof autoTopUpColumns.auto_top_ups>
export type NoticeRow = RowOf<typeof autoTopUpColumns.notices>

/** Saved cards and automatic top-ups. */
export function autoTopUpTables({ table }: TableWords): string {
  return `
${table(autoTopUpColumns, 'saved_cards', [
  'CHECK ((method_id IS NULL) = (forgotten_at IS NOT NULL))',
  'CHECK ((forgotten_at IS NULL) = (forgotten_by IS NULL))',
])}
CREATE INDEX saved_cards_of_account ON saved_cards (account_id) WHERE forgotten_at IS NULL;

${table(autoTopUpColumns, 'auto_top_ups', [`CHECK ((state = 'off') = (off_reason IS NOT NULL))`])}
CREATE INDEX auto_top_ups_on ON auto_top_ups (next_at) WHERE state = 'on';

${table(autoTopUpColumns, 'notices')}
CREATE INDEX notices_due ON notices (next_at);
`
}
