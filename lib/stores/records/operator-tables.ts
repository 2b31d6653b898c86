import type { RowOf, SqlOf, TableWords } from '../shared/store-schema.ts'
import type { signInTables } from '../shared/user-tables.ts'

/** What operators can do, each with a line in the log. */
export const operatorActions = [
  'block',
  'unblock',
  'edit-key',
  'revoke-key',
  'delete-account',
  'correct',
  'credit',
  'debit',
  'refund',
  'end-sessions',
  'accept-rate',
  'import-prices',
  'import-statement',
  'assign-transfer',
  'return-transfer',
  'undo-transfer',
  'close-month',
  'correct-document',
  'mark-document',
  'cancel-invoice',
  'add-operator',
  'remove-operator',
  'take-alarm',
  'close-alarm',
  'pause-provider',
  'resume-provider',
  'try-provider',
] as const

/** Columns of the tables below. */
export const operatorColumns = {
  /** What operators did. */
  operator_actions: {
    id: 'TEXT PRIMARY KEY',
    at: 'BIGINT NOT NULL',
    operator: 'TEXT NOT NULL',
    action: 'TEXT NOT NULL' as SqlOf<(typeof operatorActions)[number]>,
    /** Empty where it was nobody's account. */
    account_id: 'TEXT NOT NULL',
    reason: 'TEXT NOT NULL',
  },
  /** What an operator has to look at: `open`, then `taken` by somebody, then `closed`; raised again, it is open again. */
  alarms: {
    id: 'TEXT PRIMARY KEY',
    /** The alarm's code. */
    kind: 'TEXT NOT NULL',
    /** What it is about: a provider and its credential, an account, a payment; empty where there is one of it. */
    subject: 'TEXT NOT NULL',
    state: `TEXT NOT NULL CHECK (state IN ('open', 'taken', 'closed'))`,
    /** How often it was raised since it was opened. */
    count: 'BIGINT NOT NULL',
    /** Since it was opened; milliseconds since the epoch, as all times here. */
    first_at: 'BIGINT NOT NULL',
    last_at: 'BIGINT NOT NULL',
    /** What was known when it was raised last, as JSON. */
    details: 'TEXT NOT NULL',
    taken_by: 'TEXT',
    taken_at: 'BIGINT',
    /** An operator, or `gateway` where it ended by itself. */
    closed_by: 'TEXT',
    closed_at: 'BIGINT',
    reason: 'TEXT',
  },
  /** What somebody was told of an alarm last, and what is being tried. */
  alarm_messages: {
    alarm_id: 'TEXT NOT NULL REFERENCES alarms (id)',
    /** `email`, or `webhook:NAME`. */
    channel: 'TEXT NOT NULL',
    /** The opening that was told, by the alarm's `first_at`; 0: none yet. */
    opened_at: 'BIGINT NOT NULL',
    /** 1 when its end was told. */
    is_closed: 'BIGINT NOT NULL',
    /** Attempts to tell what comes next. */
    attempts: 'BIGINT NOT NULL',
    /** Nobody tries before; who tries moves it on first. */
    next_at: 'BIGINT NOT NULL',
  },
  /** What an operator has switched of a provider, or of one of its credentials. Times are milliseconds since the epoch. */
  provider_switches: {
    provider: 'TEXT NOT NULL',
    /** `openai#1`; empty: the whole provider. */
    credential: 'TEXT NOT NULL',
    is_paused: 'BIGINT NOT NULL',
    /** When rests were ended last; 0: never. */
    tried_at: 'BIGINT NOT NULL',
  },
  /** The Central Bank's rate of a day, as it was found first. Times are milliseconds since the epoch. */
  exchange_rates: {
    /** `2026-11-24`, in Moscow. */
    day: 'TEXT PRIMARY KEY',
    /** Roubles for a dollar, a decimal. */
    usd_rub: 'TEXT NOT NULL',
    /** `held`: it differs too much from the one before, and is not used until somebody accepts it. */
    state: `TEXT NOT NULL CHECK (state IN ('used', 'held'))`,
    found_at: 'BIGINT NOT NULL',
    accepted_at: 'BIGINT',
  },
} as const

export type AlarmRow = RowOf<typeof operatorColumns.alarms>
export type AlarmMessageRow = RowOf<typeof operatorColumns.alarm_messages>
export type RateRow = RowOf<typeof operatorColumns.exchange_rates>

export type OperatorActionRow = RowOf<typeof operatorColumns.operator_actions>
export type OperatorRow = RowOf<typeof signInTables.operators>
export type OperatorRole = OperatorRow['role']

/** What operators did, append-only; and what they look at and switch. */
export function operatorTables({ table, appendOnly }: TableWords): string {
  return `
${table(operatorColumns, 'operator_actions')}
CREATE INDEX operator_actions_by_account ON operator_actions (account_id, at);
CREATE INDEX operator_actions_by_time ON operator_actions (at, id);
${appendOnly('operator_actions')}

${table(operatorColumns, 'alarms', [
  'UNIQUE (kind, subject)',
  `CHECK ((state = 'closed') = (closed_at IS NOT NULL))`,
])}

${table(operatorColumns, 'alarm_messages', ['PRIMARY KEY (alarm_id, channel)'])}

${table(operatorColumns, 'provider_switches', ['PRIMARY KEY (provider, credential)'])}

${table(operatorColumns, 'exchange_rates')}
`
}
