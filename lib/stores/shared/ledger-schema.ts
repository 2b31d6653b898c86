import { ledgerColumns } from './ledger-columns.ts'
import type { Columns } from './row-of.ts'
import type { TableWords } from './store-schema.ts'
import { alarmTables, operatorActionTables, providerTables, rateTables } from '../records/operator-tables.ts'
import { autoTopUpTables, paymentTables } from '../records/payment-tables.ts'
import {
  correctionTables,
  memberTables,
  noteTables,
  startingCreditTables,
} from '../records/customer-tables.ts'
import { deskIndexes, movementIndex } from '../records/ledger-tables.ts'
import { documentEmailTables, documentTables, facsimileTables } from '../records/document-tables.ts'
import { userTables } from './user-tables.ts'

const tables: readonly ((words: TableWords) => string)[] = [
  userTables,
  balanceAlertTables,
  chargeSumTables,
  paymentTables,
  () => movementIndex,
  documentTables,
  startingCreditTables,
  autoTopUpTables,
  memberTables,
  documentEmailTables,
  rateTables,
  operatorActionTables,
  correctionTables,
  facsimileTables,
  noteTables,
  alarmTables,
  providerTables,
  () => deskIndexes,
]

/** All that a new store begins with on either database. It stays as it is: what comes later are steps. */
export function baselineTables(words: TableWords, columns: NodeColumns): string {
  return [
    accountTables(words, columns),
    keyTables(words, columns),
    holdTables(words),
    chargeTables(words),
    jobTables(words, columns),
    ...tables.map(described => described(words)),
  ].join('\n')
}

/** What a store of several nodes has beside the others. */
interface NodeColumns {
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
function accountTables({ table }: TableWords, columns: NodeColumns): string {
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
function keyTables({ table, hotOptions }: TableWords, { keyVersion }: NodeColumns): string {
  return `
${table({ keys: { ...ledgerColumns.keys, ...keyVersion } }, 'keys')}
CREATE INDEX keys_by_account ON keys (account_id);

${table(ledgerColumns, 'key_spending', ['PRIMARY KEY (key_id, day)'], hotOptions)}
`
}

/** What exchanges set aside. */
function holdTables({ table, ofAccount, refuse }: TableWords): string {
  return `
${table({ holds: { ...ledgerColumns.holds, ...ofAccount } }, 'holds', [
  'PRIMARY KEY (exchange_id, sequence)',
  `CHECK ((state = 'open') = (resolved_at IS NULL))`,
])}
${refuse({ name: 'holds_stay', table: 'holds', when: 'DELETE', message: 'holds are not deleted' })}
`
}

/** What exchanges pay, and the entries that balances are sums of; append-only. */
function chargeTables({ table, ofAccount, largeOptions, appendOnly }: TableWords): string {
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
function jobTables({ table, ofAccount, refuse }: TableWords, { resolvedBy }: NodeColumns): string {
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
function chargeSumTables({ table, hotOptions }: TableWords): string {
  return `
${table(ledgerColumns, 'charge_sums', ['PRIMARY KEY (account_id, day, model, key_id, outcome)'], hotOptions)}
`
}

/** Alerts, and what writes them. */
function balanceAlertTables({ kind, table }: TableWords): string {
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
