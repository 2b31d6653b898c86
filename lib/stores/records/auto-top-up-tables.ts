import type { TableWords } from '../shared/store-schema.ts'

/** A card that its owner let the gateway charge again. */
export interface SavedCardRow {
  /** The id of the payment by which it was saved. */
  readonly id: string
  readonly account_id: string
  readonly provider: string
  /** By which the provider charges it; null once it is forgotten. */
  readonly method_id: string | null
  /** As the provider names it: `Bank card *4477`. */
  readonly title: string
  readonly saved_at: number
  readonly forgotten_at: number | null
  readonly forgotten_by: 'owner' | 'provider' | null
}

/** When and by how much an account is topped up by itself. */
export interface AutoTopUpRow {
  readonly account_id: string
  readonly card_id: string
  readonly state: 'on' | 'off'
  /** Why it is off: its owner wished so, the card was unlinked, or too many attempts failed. */
  readonly off_reason: 'owner' | 'card' | 'failures' | null
  readonly below_micros: number
  readonly amount_micros: number
  /** The most that a calendar month in Moscow may take. */
  readonly month_max_micros: number
  /** How many attempts have failed since the last that did not. */
  readonly failures: number
  /** No attempt before; milliseconds since the epoch. */
  readonly next_at: number
  /** Changes with every attempt and every setting, so that of several nodes one makes the attempt. */
  readonly revision: number
  readonly changed_at: number
}

/** An email to the owners of an account, owed since the transaction that it tells of. */
export interface NoticeRow {
  readonly id: string
  readonly account_id: string
  readonly kind: string
  /** What it tells of: an id of a row, or a text. */
  readonly subject: string
  readonly created_at: number
  /** When it is sent next. */
  readonly next_at: number
}

/** Tables of top-ups that nobody is asked for. */
export interface AutoTopUpTables {
  readonly saved_cards: SavedCardRow
  readonly auto_top_ups: AutoTopUpRow
  readonly notices: NoticeRow
}

/** Saved cards and automatic top-ups. */
export function autoTopUpTables({ integer, options }: TableWords): string {
  return `
CREATE TABLE saved_cards (
  id TEXT PRIMARY KEY REFERENCES payments (id),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  provider TEXT NOT NULL,
  method_id TEXT,
  title TEXT NOT NULL,
  saved_at ${integer} NOT NULL,
  forgotten_at ${integer},
  forgotten_by TEXT CHECK (forgotten_by IN ('owner', 'provider')),
  CHECK ((method_id IS NULL) = (forgotten_at IS NOT NULL)),
  CHECK ((forgotten_at IS NULL) = (forgotten_by IS NULL))
)${options};
CREATE INDEX saved_cards_of_account ON saved_cards (account_id) WHERE forgotten_at IS NULL;

CREATE TABLE auto_top_ups (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  card_id TEXT NOT NULL REFERENCES saved_cards (id),
  state TEXT NOT NULL CHECK (state IN ('on', 'off')),
  off_reason TEXT CHECK (off_reason IN ('owner', 'card', 'failures')),
  below_micros ${integer} NOT NULL CHECK (below_micros > 0),
  amount_micros ${integer} NOT NULL CHECK (amount_micros > 0),
  month_max_micros ${integer} NOT NULL CHECK (month_max_micros >= amount_micros),
  failures INTEGER NOT NULL DEFAULT 0,
  next_at ${integer} NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  changed_at ${integer} NOT NULL,
  CHECK ((state = 'off') = (off_reason IS NOT NULL))
)${options};
CREATE INDEX auto_top_ups_on ON auto_top_ups (next_at) WHERE state = 'on';

CREATE TABLE notices (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  created_at ${integer} NOT NULL,
  next_at ${integer} NOT NULL
)${options};
CREATE INDEX notices_due ON notices (next_at);
`
}
