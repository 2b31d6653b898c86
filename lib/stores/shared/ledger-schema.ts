import { customerTables } from '../records/customer-tables.ts'
import { documentTables } from '../records/document-tables.ts'
import { movementCondition } from '../records/ledger-entries.ts'
import { operatorTables } from '../records/operator-tables.ts'
import { paymentTables } from '../records/payment-tables.ts'
import { ledgerColumns } from './ledger-columns.ts'
import type { Columns, TableWords } from './store-schema.ts'
import { userTables } from './user-tables.ts'

/** Everything that a new store begins with, on either database. It never changes: later changes are steps. */
export function baselineTables(words: TableWords): string {
  const described = [
    accountTables,
    keyTables,
    holdTables,
    chargeTables,
    jobTables,
    userTables,
    paymentTables,
    documentTables,
    operatorTables,
    customerTables,
  ]
  return described.map(tables => tables(words)).join('\n')
}

/**
 * Columns that exist on PostgreSQL only. Accounts store what is held, so that one row decides an admission; keys have a
 * version, by which other nodes notice changes; jobs store the operation that ended them, so that the same operation,
 * when sent again, gets the same result.
 */
const nodeColumns = {
  accounts: {
    held_micros: 'BIGINT NOT NULL DEFAULT 0 CHECK (held_micros >= 0)',
    worst_micros: 'BIGINT NOT NULL DEFAULT 0',
  },
  keys: { version: 'BIGINT NOT NULL DEFAULT 0' },
  jobs: { resolved_by: 'TEXT' },
} as const

function ofNodes({ kind }: TableWords, name: keyof typeof nodeColumns): Columns {
  return kind === 'postgres' ? nodeColumns[name] : {}
}

/** Users, accounts, memberships, alerts and prices. */
function accountTables(words: TableWords): string {
  const { kind, table, hotOptions } = words
  const { created_at, ...others } = ledgerColumns.accounts
  const accounts = { ...others, ...ofNodes(words, 'accounts'), created_at }
  const rules = [`CHECK (kind = 'house' OR balance_micros >= 0)`]
  if (kind === 'postgres')
    rules.push(`CONSTRAINT never_overspent CHECK (kind = 'house' OR balance_micros >= held_micros)`)
  return `
${table(ledgerColumns, 'users')}

${table({ accounts }, 'accounts', rules, hotOptions)}
CREATE INDEX accounts_by_creation ON accounts (created_at, id);
CREATE INDEX accounts_in_debt ON accounts (id) WHERE debt_micros > 0;
CREATE INDEX accounts_indebted ON accounts (debt_micros) WHERE debt_micros > 0;
CREATE INDEX accounts_blocked ON accounts (blocked_at) WHERE blocked_at IS NOT NULL;

${table(ledgerColumns, 'memberships', ['PRIMARY KEY (user_id, account_id)'])}
CREATE INDEX memberships_by_account ON memberships (account_id);

${table(ledgerColumns, 'balance_alerts')}
${kind === 'sqlite' ? sqliteAlert : postgresAlert}

${table(ledgerColumns, 'prices')}

INSERT INTO accounts (id, kind, name, created_at) VALUES
  ('house:cash', 'house', 'Money in', 0),
  ('house:revenue', 'house', 'Sales', 0),
  ('house:overrun', 'house', 'Usage beyond what accounts had', 0);
`
}

/** Keys, and what each has spent by day. */
function keyTables(words: TableWords): string {
  const { table, hotOptions } = words
  return `
${table({ keys: { ...ledgerColumns.keys, ...ofNodes(words, 'keys') } }, 'keys')}
CREATE INDEX keys_by_account ON keys (account_id);
CREATE INDEX keys_by_ending ON keys (last_four);

${table(ledgerColumns, 'key_spending', ['PRIMARY KEY (key_id, day)'], hotOptions)}
`
}

/** Money that exchanges set aside. */
function holdTables({ table, ofAccount, refuse }: TableWords): string {
  return `
${table({ holds: { ...ledgerColumns.holds, ...ofAccount } }, 'holds', [
  'PRIMARY KEY (exchange_id, sequence)',
  `CHECK ((state = 'open') = (resolved_at IS NULL))`,
])}
${refuse({ name: 'holds_stay', table: 'holds', when: 'DELETE', message: 'holds are not deleted' })}
`
}

/** Charges and the entries that balances are sums of, both append-only, and sums of charges. */
function chargeTables({ table, ofAccount, hotOptions, largeOptions, appendOnly }: TableWords): string {
  const charges = { ...ledgerColumns.charges, ...ofAccount }
  const entries = { ...ledgerColumns.entries, ...ofAccount }
  return `
${table({ charges }, 'charges', ['UNIQUE (exchange_id, sequence, revision)'], largeOptions)}
CREATE INDEX charges_by_account ON charges (account_id, id);
${appendOnly('charges')}

${table({ entries }, 'entries', ['PRIMARY KEY (exchange_id, sequence, kind, revision)'])}
CREATE INDEX entries_of_movements ON entries (account_id, at) WHERE ${movementCondition};
${appendOnly('entries')}

${table(ledgerColumns, 'charge_sums', ['PRIMARY KEY (account_id, day, model, key_id, outcome)'], hotOptions)}
CREATE INDEX charge_sums_by_day ON charge_sums (day, outcome);
`
}

/** Objects and jobs. */
function jobTables(words: TableWords): string {
  const { table, ofAccount, refuse } = words
  const jobs = { ...ledgerColumns.jobs, ...ofAccount, ...ofNodes(words, 'jobs') }
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
