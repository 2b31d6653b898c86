import { ledgerColumns } from './ledger-columns.ts'
import type { Columns } from './row-of.ts'
import type { TableWords } from './store-schema.ts'

/** What a store of several nodes has beside the others. */
export interface NodeColumns {
  /** What decides an admission by one row. */
  readonly held: Columns
  readonly neverOverspent: readonly string[]
  readonly accountOptions: string
  /** By which nodes notice changes of keys. */
  readonly keyVersion: Columns
  /** Which operation ended a job, so that one that is sent again is answered as it was done. */
  readonly resolvedBy: Columns
}

/** Accounts, who acts for them, and at what prices. */
export function accountTables({ table }: TableWords, columns: NodeColumns): string {
  const { held, neverOverspent, accountOptions } = columns
  const { created_at, ...others } = ledgerColumns.accounts
  const rules = [`CHECK (kind = 'house' OR balance_micros >= 0)`, ...neverOverspent]
  return `
${table(ledgerColumns, 'users')}

${table({ accounts: { ...others, ...held, created_at } }, 'accounts', rules, accountOptions)}
CREATE INDEX accounts_in_debt ON accounts (id) WHERE debt_micros > 0;

${table(ledgerColumns, 'memberships', ['PRIMARY KEY (user_id, account_id)'])}
CREATE INDEX memberships_by_account ON memberships (account_id);

${table(ledgerColumns, 'prices')}

INSERT INTO accounts (id, kind, name, created_at) VALUES
  ('house:cash', 'house', 'Money in', 0),
  ('house:revenue', 'house', 'Sales', 0),
  ('house:overrun', 'house', 'Usage beyond what accounts had', 0);
`
}

/** Keys, and what each has spent by day. */
export function keyTables({ table, hotOptions }: TableWords, { keyVersion }: NodeColumns): string {
  return `
${table({ keys: { ...ledgerColumns.keys, ...keyVersion } }, 'keys')}
CREATE INDEX keys_by_account ON keys (account_id);

${table(ledgerColumns, 'key_spending', ['PRIMARY KEY (key_id, day)'], hotOptions)}
`
}

/** What exchanges set aside. */
export function holdTables({ table, ofAccount, refuse }: TableWords): string {
  return `
${table({ holds: { ...ledgerColumns.holds, ...ofAccount } }, 'holds', [
  'PRIMARY KEY (exchange_id, sequence)',
  `CHECK ((state = 'open') = (resolved_at IS NULL))`,
])}
${refuse({ name: 'holds_stay', table: 'holds', when: 'DELETE', message: 'holds are not deleted' })}
`
}

/** What exchanges pay, and the entries that balances are sums of; append-only. */
export function chargeTables({ table, ofAccount, largeOptions, appendOnly }: TableWords): string {
  const charges = { ...ledgerColumns.charges, ...ofAccount }
  const entries = { ...ledgerColumns.entries, ...ofAccount }
  return `
${table({ charges }, 'charges', ['UNIQUE (exchange_id, sequence, revision)'], largeOptions)}
CREATE INDEX charges_by_account ON charges (account_id, id);
${appendOnly('charges')}

${table({ entries }, 'entries', ['PRIMARY KEY (exchange_id, sequence, kind, revision)'])}
${appendOnly('entries')}
`
}

/** Objects and jobs. */
export function jobTables({ table, ofAccount, refuse }: TableWords, { resolvedBy }: NodeColumns): string {
  const jobs = { ...ledgerColumns.jobs, ...ofAccount, ...resolvedBy }
  return `
${table(ledgerColumns, 'objects', ['PRIMARY KEY (provider, kind, id)'])}
CREATE INDEX objects_listed ON objects (account_id, kind, listed_at, id) WHERE listed_at IS NOT NULL;

${table({ jobs }, 'jobs', [
  'PRIMARY KEY (provider, kind, id)',
  'UNIQUE (exchange_id, sequence)',
  `CHECK ((state = 'open') = (resolved_at IS NULL))`,
])}
CREATE INDEX jobs_due ON jobs (next_poll_at) WHERE state = 'open';
${refuse({ name: 'jobs_stay', table: 'jobs', when: 'DELETE', message: 'jobs are not deleted' })}
`
}

/** Sums of charges. */
export function chargeSumTables({ table, hotOptions }: TableWords): string {
  return `
${table(ledgerColumns, 'charge_sums', ['PRIMARY KEY (account_id, day, model, key_id, outcome)'], hotOptions)}
`
}

/** Alerts, and what writes them. */
export function balanceAlertTables({ kind, table }: TableWords): string {
  return `
${table(ledgerColumns, 'balance_alerts')}
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
