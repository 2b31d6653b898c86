import type { RowOf, SqlOf, TableWords } from '../shared/store-schema.ts'
import type { signInTables } from '../shared/user-tables.ts'

/** Actions of operators, each of which is logged. */
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
  /** Actions of operators. */
  operator_actions: {
    id: 'TEXT PRIMARY KEY',
    at: 'BIGINT NOT NULL',
    operator: 'TEXT NOT NULL',
    action: 'TEXT NOT NULL' as SqlOf<(typeof operatorActions)[number]>,
    /** Empty when no account is concerned. */
    account_id: 'TEXT NOT NULL',
    reason: 'TEXT NOT NULL',
  },
  /**
   * Something an operator must check: `open`, then `taken` by an operator, then `closed`; raised again, it is open
   * again.
   */
  alarms: {
    id: 'TEXT PRIMARY KEY',
    /** The alarm's code. */
    kind: 'TEXT NOT NULL',
    /** What it is about: a provider and its credential, an account, a payment; empty when the kind has only one. */
    subject: 'TEXT NOT NULL',
    state: `TEXT NOT NULL CHECK (state IN ('open', 'taken', 'closed'))`,
    /** How often it was raised since it was opened. */
    count: 'BIGINT NOT NULL',
    /** When it was opened; milliseconds since the epoch, as all times here. */
    first_at: 'BIGINT NOT NULL',
    last_at: 'BIGINT NOT NULL',
    /** What was known when it was last raised, as JSON. */
    details: 'TEXT NOT NULL',
    taken_by: 'TEXT',
    taken_at: 'BIGINT',
    /** An operator, or `gateway` when it ended by itself. */
    closed_by: 'TEXT',
    closed_at: 'BIGINT',
    reason: 'TEXT',
  },
  /** The last message about an alarm on a channel, and the attempts at the next one. */
  alarm_messages: {
    alarm_id: 'TEXT NOT NULL REFERENCES alarms (id)',
    /** `email`, or `webhook:NAME`. */
    channel: 'TEXT NOT NULL',
    /** The opening that was reported, by the alarm's `first_at`; 0: none yet. */
    opened_at: 'BIGINT NOT NULL',
    /** 1 when its end was reported. */
    is_closed: 'BIGINT NOT NULL',
    /** Attempts to send the next message. */
    attempts: 'BIGINT NOT NULL',
    /** No attempt before this time; the sender moves it forward before it tries. */
    next_at: 'BIGINT NOT NULL',
  },
  /**
   * What an operator has switched for a provider, or for one of its credentials. Times are milliseconds since the
   * epoch.
   */
  provider_switches: {
    provider: 'TEXT NOT NULL',
    /** `openai#OPENAI_API_KEY`; empty: the whole provider. */
    credential: 'TEXT NOT NULL',
    is_paused: 'BIGINT NOT NULL',
    /** When its rests were last ended; 0: never. */
    tried_at: 'BIGINT NOT NULL',
  },
  /** The Central Bank's rate of a day, as it was first found. Times are milliseconds since the epoch. */
  exchange_rates: {
    /** `2026-11-24`, in Moscow. */
    day: 'TEXT PRIMARY KEY',
    /** Roubles for a dollar, a decimal. */
    usd_rub: 'TEXT NOT NULL',
    /** `held`: it differs too much from the previous rate, and is not used until an operator accepts it. */
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

/** Operators' actions, append-only; alarms, switches of providers and exchange rates. */
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
