import { sqliteAlarms } from '../records/alarm-table.ts'
import { sqliteAutoTopUps } from '../records/auto-top-up-tables.ts'
import { sqliteCorrections } from '../records/correction-table.ts'
import { deskIndexes } from '../records/desk-indexes.ts'
import { sqliteDocumentEmails } from '../records/document-email-tables.ts'
import { sqliteDocuments } from '../records/document-tables.ts'
import { sqliteFacsimiles } from '../records/facsimile-table.ts'
import { sqliteErrorCounts } from '../records/error-count-table.ts'
import { movementIndex } from '../records/ledger-tables.ts'
import { sqliteMembers } from '../records/member-tables.ts'
import { sqliteNotes } from '../records/note-table.ts'
import { sqlitePayments } from '../records/payment-tables.ts'
import { sqliteProviderSwitches } from '../records/provider-table.ts'
import { sqliteRates } from '../records/rate-table.ts'
import { sqliteStartingCredits } from '../records/starting-credit-table.ts'
import { sqliteOperatorActions } from '../shared/account-blocks.ts'
import { sqliteBalanceAlerts } from '../shared/balance-alert-schema.ts'
import { sqliteSpending } from '../shared/spending-schema.ts'
import { withoutUnusedColumns, type StoreSchema } from '../shared/store-schema.ts'
import { sqliteSignIn } from '../shared/user-schema.ts'

/** Marks a file as this program's store: "gtwy". */
export const applicationId = 0x67747779

/**
 * Accounts know what they owe, what they have paid in their life, and what they overran before debts were kept, which is
 * the house's loss for good: `written_off_micros`.
 */
const ledger = `
CREATE TABLE users (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  name TEXT,
  created_at INTEGER NOT NULL,
  email_verified INTEGER NOT NULL DEFAULT 0,
  image TEXT,
  updated_at INTEGER,
  two_factor_enabled INTEGER NOT NULL DEFAULT 0,
  language TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('customer', 'house')),
  name TEXT,
  email TEXT UNIQUE,
  balance_micros INTEGER NOT NULL DEFAULT 0,
  debt_micros INTEGER NOT NULL DEFAULT 0 CHECK (debt_micros >= 0),
  paid_micros INTEGER NOT NULL DEFAULT 0,
  written_off_micros INTEGER NOT NULL DEFAULT 0,
  alert_below_micros INTEGER CHECK (alert_below_micros > 0),
  blocked_at INTEGER,
  created_at INTEGER NOT NULL,
  CHECK (kind = 'house' OR balance_micros >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX accounts_in_debt ON accounts (id) WHERE debt_micros > 0;

CREATE TABLE memberships (
  user_id TEXT NOT NULL REFERENCES users (id),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  role TEXT NOT NULL CHECK (role IN ('owner', 'accountant')),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, account_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_by_account ON memberships (account_id);

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  digest TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  last_four TEXT NOT NULL,
  models TEXT,
  budget_micros INTEGER CHECK (budget_micros >= 0),
  budget_period TEXT CHECK (budget_period IN ('total', 'day', 'week', 'month')),
  expires_at INTEGER,
  ip_addresses TEXT,
  revoked_at INTEGER,
  blocked_at INTEGER,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_by_account ON keys (account_id);

CREATE TABLE key_spending (
  key_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  spent_micros INTEGER NOT NULL,
  last_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (key_id, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE holds (
  exchange_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  key_id TEXT NOT NULL,
  amount_micros INTEGER NOT NULL CHECK (amount_micros >= 0),
  worst_micros INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'charged', 'released', 'expired')),
  owner TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  resolved_at INTEGER,
  PRIMARY KEY (exchange_id, sequence),
  CHECK ((state = 'open') = (resolved_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX holds_open ON holds (account_id) WHERE state = 'open';
CREATE TRIGGER holds_stay BEFORE DELETE ON holds
BEGIN SELECT RAISE(ABORT, 'holds are not deleted'); END;

CREATE TABLE charges (
  id INTEGER PRIMARY KEY,
  exchange_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  key_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  dialect TEXT NOT NULL,
  operation TEXT NOT NULL,
  outcome TEXT NOT NULL,
  usage_source TEXT NOT NULL,
  lines TEXT NOT NULL,
  raw_usage TEXT,
  details TEXT,
  flags TEXT NOT NULL,
  amount_micros INTEGER NOT NULL CHECK (amount_micros >= 0),
  overrun_micros INTEGER NOT NULL CHECK (overrun_micros >= 0),
  UNIQUE (exchange_id, sequence, revision)
) STRICT;
CREATE INDEX charges_by_account ON charges (account_id, id);
CREATE TRIGGER charges_stay_as_they_are BEFORE UPDATE ON charges
BEGIN SELECT RAISE(ABORT, 'charges are append-only'); END;
CREATE TRIGGER charges_stay BEFORE DELETE ON charges
BEGIN SELECT RAISE(ABORT, 'charges are append-only'); END;

CREATE TABLE entries (
  exchange_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  kind TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  amount_micros INTEGER NOT NULL CHECK (amount_micros <> 0),
  at INTEGER NOT NULL,
  payment_id TEXT,
  reason TEXT,
  source TEXT CHECK (source IN ('payment', 'operator', 'starting')),
  PRIMARY KEY (exchange_id, sequence, kind, revision)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER entries_stay_as_they_are BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER entries_stay BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;

CREATE TABLE prices (
  hash TEXT PRIMARY KEY,
  model TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE objects (
  provider TEXT NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  credential TEXT NOT NULL,
  exchange_id TEXT NOT NULL,
  dialect TEXT,
  facts TEXT,
  listed_at INTEGER,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (provider, kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX objects_listed ON objects (account_id, kind, listed_at, id) WHERE listed_at IS NOT NULL;

INSERT INTO accounts (id, kind, name, created_at) VALUES
  ('house:cash', 'house', 'Money in', 0),
  ('house:revenue', 'house', 'Sales', 0),
  ('house:overrun', 'house', 'Usage beyond what accounts had', 0);
`

/**
 * Work that goes on after its exchange, with that exchange's hold; what is known of an object beside whose it
 * is. A job's hold belongs to `jobs`, so that no recovery or expiry of exchanges ends it.
 */
const jobs = `
CREATE TABLE jobs (
  provider TEXT NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  exchange_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  key_id TEXT NOT NULL,
  credential TEXT NOT NULL,
  dialect TEXT NOT NULL,
  operation TEXT NOT NULL,
  model TEXT NOT NULL,
  facts TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'charged', 'released')),
  next_poll_at INTEGER NOT NULL,
  polls INTEGER NOT NULL DEFAULT 0,
  deadline_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  resolved_at INTEGER,
  PRIMARY KEY (provider, kind, id),
  UNIQUE (exchange_id, sequence),
  CHECK ((state = 'open') = (resolved_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs (next_poll_at) WHERE state = 'open';
CREATE TRIGGER jobs_stay BEFORE DELETE ON jobs
BEGIN SELECT RAISE(ABORT, 'jobs are not deleted'); END;
`

/**
 * The tables of a SQLite store. The version stands in `user_version`, which SQLite changes within the same transaction as
 * the tables: a step is taken whole or not at all, and a store of a newer program is known by one number before a table of
 * it is read. (Kysely's Migrator keeps its state in tables of its own and is asynchronous, which the writer thread, where
 * this runs, otherwise never is.)
 */
export const sqliteSchema: StoreSchema = {
  baseline: {
    version: 26,
    sql: [
      ledger,
      jobs,
      sqliteSignIn,
      sqliteBalanceAlerts,
      sqliteSpending,
      sqlitePayments,
      movementIndex,
      sqliteDocuments,
      sqliteStartingCredits,
      sqliteAutoTopUps,
      sqliteMembers,
      sqliteDocumentEmails,
      sqliteRates,
      sqliteOperatorActions,
      sqliteCorrections,
      sqliteFacsimiles,
      sqliteNotes,
      sqliteAlarms,
      sqliteProviderSwitches,
      deskIndexes,
    ].join('\n'),
  },
  steps: [
    { version: 26, sql: withoutUnusedColumns },
    { version: 27, sql: sqliteErrorCounts },
  ],
}
