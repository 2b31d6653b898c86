import { postgresAlarms } from '../records/alarm-table.ts'
import { postgresAutoTopUps } from '../records/auto-top-up-tables.ts'
import { postgresCorrections } from '../records/correction-table.ts'
import { deskIndexes } from '../records/desk-indexes.ts'
import { postgresDocumentEmails } from '../records/document-email-tables.ts'
import { postgresDocuments } from '../records/document-tables.ts'
import { postgresFacsimiles } from '../records/facsimile-table.ts'
import { postgresErrorCounts } from '../records/error-count-table.ts'
import { movementIndex } from '../records/ledger-tables.ts'
import { postgresMembers } from '../records/member-tables.ts'
import { postgresNotes } from '../records/note-table.ts'
import { postgresPayments } from '../records/payment-tables.ts'
import { postgresProviderSwitches } from '../records/provider-table.ts'
import { postgresRates } from '../records/rate-table.ts'
import { postgresStartingCredits } from '../records/starting-credit-table.ts'
import { postgresOperatorActions } from '../shared/account-blocks.ts'
import { postgresBalanceAlerts } from '../shared/balance-alert-schema.ts'
import { postgresSpending } from '../shared/spending-schema.ts'
import { withoutUnusedColumns, type StoreSchema } from '../shared/store-schema.ts'
import { postgresSignIn } from '../shared/user-schema.ts'
import { applyOperations } from './postgres-apply.ts'

/**
 * Accounts know what they owe, what they have paid in their life, and what they overran before debts were kept, which is
 * the house's loss for good: `written_off_micros`.
 */
const ledger = `
CREATE TABLE users (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  name TEXT,
  created_at BIGINT NOT NULL,
  email_verified BIGINT NOT NULL DEFAULT 0,
  image TEXT,
  updated_at BIGINT,
  two_factor_enabled BIGINT NOT NULL DEFAULT 0,
  language TEXT
);

CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('customer', 'house')),
  name TEXT,
  email TEXT UNIQUE,
  balance_micros BIGINT NOT NULL DEFAULT 0,
  debt_micros BIGINT NOT NULL DEFAULT 0 CHECK (debt_micros >= 0),
  paid_micros BIGINT NOT NULL DEFAULT 0,
  written_off_micros BIGINT NOT NULL DEFAULT 0,
  alert_below_micros BIGINT CHECK (alert_below_micros > 0),
  blocked_at BIGINT,
  held_micros BIGINT NOT NULL DEFAULT 0 CHECK (held_micros >= 0),
  worst_micros BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  CHECK (kind = 'house' OR balance_micros >= 0),
  CONSTRAINT never_overspent CHECK (kind = 'house' OR balance_micros >= held_micros)
) WITH (fillfactor = 50);
CREATE INDEX accounts_in_debt ON accounts (id) WHERE debt_micros > 0;

CREATE TABLE memberships (
  user_id TEXT NOT NULL REFERENCES users (id),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  role TEXT NOT NULL CHECK (role IN ('owner', 'accountant')),
  created_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, account_id)
);
CREATE INDEX memberships_by_account ON memberships (account_id);

CREATE SEQUENCE key_versions;
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  digest TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  last_four TEXT NOT NULL,
  models TEXT,
  budget_micros BIGINT CHECK (budget_micros >= 0),
  budget_period TEXT CHECK (budget_period IN ('total', 'day', 'week', 'month')),
  expires_at BIGINT,
  ip_addresses TEXT,
  revoked_at BIGINT,
  blocked_at BIGINT,
  created_at BIGINT NOT NULL,
  version BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX keys_by_account ON keys (account_id);
CREATE INDEX keys_by_version ON keys (version);
CREATE FUNCTION announce_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.version := nextval('key_versions');
  PERFORM pg_notify('gateway_keys', NEW.id);
  RETURN NEW;
END $$;
CREATE TRIGGER keys_are_announced BEFORE INSERT OR UPDATE ON keys FOR EACH ROW EXECUTE FUNCTION announce_key();

CREATE TABLE key_spending (
  key_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  spent_micros BIGINT NOT NULL,
  last_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (key_id, day)
) WITH (fillfactor = 50);

CREATE TABLE holds (
  exchange_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  amount_micros BIGINT NOT NULL CHECK (amount_micros >= 0),
  worst_micros BIGINT NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'charged', 'released', 'expired')),
  owner TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  resolved_at BIGINT,
  PRIMARY KEY (exchange_id, sequence),
  CHECK ((state = 'open') = (resolved_at IS NULL))
);
CREATE INDEX holds_open ON holds (account_id, key_id) WHERE state = 'open';

CREATE TABLE charges (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  exchange_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  at BIGINT NOT NULL,
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
  amount_micros BIGINT NOT NULL CHECK (amount_micros >= 0),
  overrun_micros BIGINT NOT NULL CHECK (overrun_micros >= 0),
  UNIQUE (exchange_id, sequence, revision)
);
CREATE INDEX charges_by_account ON charges (account_id, id);

CREATE TABLE entries (
  exchange_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  kind TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  account_id TEXT NOT NULL,
  amount_micros BIGINT NOT NULL CHECK (amount_micros <> 0),
  at BIGINT NOT NULL,
  payment_id TEXT,
  reason TEXT,
  source TEXT CHECK (source IN ('payment', 'operator', 'starting')),
  PRIMARY KEY (exchange_id, sequence, kind, revision)
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', TG_ARGV[0];
END $$;
CREATE TRIGGER charges_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON charges
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('charges are append-only');
CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('entries are append-only');
CREATE TRIGGER holds_stay BEFORE DELETE OR TRUNCATE ON holds
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('holds are not deleted');

CREATE TABLE prices (
  hash TEXT PRIMARY KEY,
  model TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE objects (
  provider TEXT NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  credential TEXT NOT NULL,
  exchange_id TEXT NOT NULL,
  dialect TEXT,
  facts TEXT,
  listed_at BIGINT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (provider, kind, id)
);
CREATE INDEX objects_listed ON objects (account_id, kind, listed_at, id) WHERE listed_at IS NOT NULL;

CREATE TABLE nodes (
  id TEXT PRIMARY KEY,
  lease_until TIMESTAMPTZ NOT NULL,
  seen_version BIGINT NOT NULL
);

INSERT INTO accounts (id, kind, name, created_at) VALUES
  ('house:cash', 'house', 'Money in', 0),
  ('house:revenue', 'house', 'Sales', 0),
  ('house:overrun', 'house', 'Usage beyond what accounts had', 0);
`

/**
 * Requests and tokens of keys by the minute, for the plugin rate-limit. Not logged: a crash of the database may
 * forget a minute, and counting takes no disk.
 */
const rateCounts = `
CREATE UNLOGGED TABLE rate_counts (
  key TEXT PRIMARY KEY,
  points BIGINT NOT NULL,
  expire BIGINT
);
`

/** As on SQLite, and which operation ended a job, so that one that is sent again is answered as it was done. */
const jobs = `
CREATE TABLE jobs (
  provider TEXT NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  exchange_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  credential TEXT NOT NULL,
  dialect TEXT NOT NULL,
  operation TEXT NOT NULL,
  model TEXT NOT NULL,
  facts TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'charged', 'released')),
  next_poll_at BIGINT NOT NULL,
  polls INTEGER NOT NULL DEFAULT 0,
  deadline_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  resolved_at BIGINT,
  resolved_by TEXT,
  PRIMARY KEY (provider, kind, id),
  UNIQUE (exchange_id, sequence),
  CHECK ((state = 'open') = (resolved_at IS NULL))
);
CREATE INDEX jobs_due ON jobs (next_poll_at) WHERE state = 'open';
CREATE TRIGGER jobs_stay BEFORE DELETE OR TRUNCATE ON jobs
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('jobs are not deleted');
`

/**
 * The tables of a PostgreSQL store: SQLite's, and besides what several nodes need. Accounts carry what is held, so that
 * one row decides an admission; keys a version, by which other nodes notice changes; nodes a lease. Holds, charges and
 * entries have no foreign key to accounts: their account is locked when they are written, and for the house's the check of
 * a key would make all nodes lock the same rows.
 */
export const postgresSchema: StoreSchema = {
  baseline: {
    version: 28,
    sql: [
      ledger,
      rateCounts,
      jobs,
      postgresSignIn,
      postgresBalanceAlerts,
      postgresSpending,
      postgresPayments,
      movementIndex,
      postgresDocuments,
      postgresStartingCredits,
      postgresAutoTopUps,
      postgresMembers,
      postgresDocumentEmails,
      postgresRates,
      postgresOperatorActions,
      postgresCorrections,
      postgresFacsimiles,
      postgresNotes,
      postgresAlarms,
      postgresProviderSwitches,
      deskIndexes,
      applyOperations,
    ].join('\n'),
  },
  steps: [
    { version: 28, sql: withoutUnusedColumns },
    { version: 29, sql: postgresErrorCounts },
  ],
}
