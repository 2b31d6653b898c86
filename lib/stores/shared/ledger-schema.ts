import type { TableWords } from './store-schema.ts'

/** Columns that a store of several nodes has beside the others, each with its comma. */
export interface NodeColumns {
  /** What decides an admission by one row. */
  readonly held: string
  readonly neverOverspent: string
  readonly accountOptions: string
  /** By which nodes notice changes of keys. */
  readonly keyVersion: string
  readonly chargeId: string
  /** Which operation ended a job, so that one that is sent again is answered as it was done. */
  readonly resolvedBy: string
}

/**
 * Accounts know what they owe, what they have paid in their life, and what they overran before debts were kept, which is
 * the house's loss for good: `written_off_micros`.
 */
export function accountTables(words: TableWords, columns: NodeColumns): string {
  const { integer, options } = words
  const { held, neverOverspent, accountOptions } = columns
  return `
CREATE TABLE users (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  name TEXT,
  created_at ${integer} NOT NULL,
  email_verified ${integer} NOT NULL DEFAULT 0,
  image TEXT,
  updated_at ${integer},
  two_factor_enabled ${integer} NOT NULL DEFAULT 0,
  language TEXT
)${options};

CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('customer', 'house')),
  name TEXT,
  email TEXT UNIQUE,
  balance_micros ${integer} NOT NULL DEFAULT 0,
  debt_micros ${integer} NOT NULL DEFAULT 0 CHECK (debt_micros >= 0),
  paid_micros ${integer} NOT NULL DEFAULT 0,
  written_off_micros ${integer} NOT NULL DEFAULT 0,
  alert_below_micros ${integer} CHECK (alert_below_micros > 0),
  blocked_at ${integer},
${held}  created_at ${integer} NOT NULL,
  CHECK (kind = 'house' OR balance_micros >= 0)${neverOverspent}
)${accountOptions};
CREATE INDEX accounts_in_debt ON accounts (id) WHERE debt_micros > 0;

CREATE TABLE memberships (
  user_id TEXT NOT NULL REFERENCES users (id),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  role TEXT NOT NULL CHECK (role IN ('owner', 'accountant')),
  created_at ${integer} NOT NULL,
  PRIMARY KEY (user_id, account_id)
)${options};
CREATE INDEX memberships_by_account ON memberships (account_id);

CREATE TABLE prices (
  hash TEXT PRIMARY KEY,
  model TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at ${integer} NOT NULL
)${options};

INSERT INTO accounts (id, kind, name, created_at) VALUES
  ('house:cash', 'house', 'Money in', 0),
  ('house:revenue', 'house', 'Sales', 0),
  ('house:overrun', 'house', 'Usage beyond what accounts had', 0);
`
}

/** Keys, and what each has spent by day. */
export function keyTables({ integer, options, hotOptions }: TableWords, { keyVersion }: NodeColumns): string {
  return `
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  digest TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  last_four TEXT NOT NULL,
  models TEXT,
  budget_micros ${integer} CHECK (budget_micros >= 0),
  budget_period TEXT CHECK (budget_period IN ('total', 'day', 'week', 'month')),
  expires_at ${integer},
  ip_addresses TEXT,
  revoked_at ${integer},
  blocked_at ${integer},
  created_at ${integer} NOT NULL${keyVersion}
)${options};
CREATE INDEX keys_by_account ON keys (account_id);

CREATE TABLE key_spending (
  key_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  spent_micros ${integer} NOT NULL,
  last_at ${integer} NOT NULL DEFAULT 0,
  PRIMARY KEY (key_id, day)
)${hotOptions};
`
}

/** What exchanges set aside. */
export function holdTables({ integer, ofAccount, options, refuse }: TableWords): string {
  return `
CREATE TABLE holds (
  exchange_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  account_id TEXT NOT NULL${ofAccount},
  key_id TEXT NOT NULL,
  amount_micros ${integer} NOT NULL CHECK (amount_micros >= 0),
  worst_micros ${integer} NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'charged', 'released', 'expired')),
  owner TEXT NOT NULL,
  created_at ${integer} NOT NULL,
  expires_at ${integer} NOT NULL,
  resolved_at ${integer},
  PRIMARY KEY (exchange_id, sequence),
  CHECK ((state = 'open') = (resolved_at IS NULL))
)${options};
${refuse({ name: 'holds_stay', table: 'holds', when: 'DELETE', message: 'holds are not deleted' })}
`
}

/** What exchanges pay, and the entries that balances are sums of; append-only. */
export function chargeTables(words: TableWords, { chargeId }: NodeColumns): string {
  const { integer, ofAccount, options, largeOptions, appendOnly } = words
  return `
CREATE TABLE charges (
  id ${chargeId},
  exchange_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  account_id TEXT NOT NULL${ofAccount},
  key_id TEXT NOT NULL,
  at ${integer} NOT NULL,
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
  amount_micros ${integer} NOT NULL CHECK (amount_micros >= 0),
  overrun_micros ${integer} NOT NULL CHECK (overrun_micros >= 0),
  UNIQUE (exchange_id, sequence, revision)
)${largeOptions};
CREATE INDEX charges_by_account ON charges (account_id, id);
${appendOnly('charges')}

CREATE TABLE entries (
  exchange_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  kind TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  account_id TEXT NOT NULL${ofAccount},
  amount_micros ${integer} NOT NULL CHECK (amount_micros <> 0),
  at ${integer} NOT NULL,
  payment_id TEXT,
  reason TEXT,
  source TEXT CHECK (source IN ('payment', 'operator', 'starting')),
  PRIMARY KEY (exchange_id, sequence, kind, revision)
)${options};
${appendOnly('entries')}
`
}

/**
 * Objects at providers, with whose they are; and work that goes on after its exchange, with that exchange's hold. A job's
 * hold belongs to `jobs`, so that no recovery or expiry of exchanges ends it.
 */
export function jobTables(words: TableWords, { resolvedBy }: NodeColumns): string {
  const { integer, ofAccount, options, refuse } = words
  return `
CREATE TABLE objects (
  provider TEXT NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  credential TEXT NOT NULL,
  exchange_id TEXT NOT NULL,
  dialect TEXT,
  facts TEXT,
  listed_at ${integer},
  created_at ${integer} NOT NULL,
  PRIMARY KEY (provider, kind, id)
)${options};
CREATE INDEX objects_listed ON objects (account_id, kind, listed_at, id) WHERE listed_at IS NOT NULL;

CREATE TABLE jobs (
  provider TEXT NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  exchange_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  account_id TEXT NOT NULL${ofAccount},
  key_id TEXT NOT NULL,
  credential TEXT NOT NULL,
  dialect TEXT NOT NULL,
  operation TEXT NOT NULL,
  model TEXT NOT NULL,
  facts TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'charged', 'released')),
  next_poll_at ${integer} NOT NULL,
  polls INTEGER NOT NULL DEFAULT 0,
  deadline_at ${integer} NOT NULL,
  created_at ${integer} NOT NULL,
  resolved_at ${integer},${resolvedBy}
  PRIMARY KEY (provider, kind, id),
  UNIQUE (exchange_id, sequence),
  CHECK ((state = 'open') = (resolved_at IS NULL))
)${options};
CREATE INDEX jobs_due ON jobs (next_poll_at) WHERE state = 'open';
${refuse({ name: 'jobs_stay', table: 'jobs', when: 'DELETE', message: 'jobs are not deleted' })}
`
}

/**
 * What charges come to, by account, day, model, key and outcome, with the first and the last of them: sums that are written
 * with the charges, so that pages about a million charges need not read them, and find those they show without an index for
 * each question. Days are Moscow's, as `budgetDay` has them.
 */
export function chargeSumTables({ integer, hotOptions }: TableWords): string {
  return `
CREATE TABLE charge_sums (
  account_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  model TEXT NOT NULL,
  key_id TEXT NOT NULL,
  outcome TEXT NOT NULL,
  charges ${integer} NOT NULL,
  spent_micros ${integer} NOT NULL,
  first_id ${integer} NOT NULL,
  last_id ${integer} NOT NULL,
  PRIMARY KEY (account_id, day, model, key_id, outcome)
)${hotOptions};
`
}

/**
 * What an account is alerted of. That a balance falls below the bound is seen by the transaction in which it does, so that
 * no crossing is missed or seen twice, by however many nodes; whoever tells the owner takes the row first.
 */
export function balanceAlertTables({ kind, integer, options }: TableWords): string {
  return `
CREATE TABLE balance_alerts (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  crossings INTEGER NOT NULL DEFAULT 1,
  taken_until ${integer} NOT NULL DEFAULT 0
)${options};
${kind === 'sqlite' ? sqliteAlert : postgresAlert}
`
}

const isCrossing =
  'OLD.balance_micros >= NEW.alert_below_micros AND NEW.balance_micros < NEW.alert_below_micros'
const insertAlert = `INSERT INTO balance_alerts (account_id) VALUES (NEW.id)
  ON CONFLICT (account_id) DO UPDATE SET crossings = balance_alerts.crossings + 1;`
const sqliteAlert = `CREATE TRIGGER accounts_alert AFTER UPDATE OF balance_micros ON accounts
WHEN ${isCrossing}
BEGIN ${insertAlert} END;`
const postgresAlert = `CREATE FUNCTION alert_of_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  ${insertAlert}
  RETURN NULL;
END $$;
CREATE TRIGGER accounts_alert AFTER UPDATE OF balance_micros ON accounts FOR EACH ROW
  WHEN (${isCrossing}) EXECUTE FUNCTION alert_of_balance();`
