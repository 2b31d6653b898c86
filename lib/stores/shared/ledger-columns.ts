import type { DialectName } from '../../dialects/dialect.ts'
import type { ObjectKind } from '../../money/usage.ts'
import type { RowOf, SqlOf } from './store-schema.ts'

/** Columns of the ledger's tables, and of the users and accounts that own the money. */
export const ledgerColumns = {
  /** People who sign in. */
  users: {
    id: 'TEXT PRIMARY KEY',
    email: 'TEXT NOT NULL UNIQUE',
    name: 'TEXT',
    created_at: 'BIGINT NOT NULL',
    email_verified: 'BIGINT NOT NULL DEFAULT 0',
    image: 'TEXT',
    updated_at: 'BIGINT',
    two_factor_enabled: 'BIGINT NOT NULL DEFAULT 0',
    language: 'TEXT',
  },
  /**
   * `debt_micros` is what the account owes, `paid_micros` what it has paid in total, and `written_off_micros` what it
   * overran before debts were recorded, which is the house's loss for good.
   */
  accounts: {
    id: 'TEXT PRIMARY KEY',
    kind: `TEXT NOT NULL CHECK (kind IN ('customer', 'house'))`,
    name: 'TEXT',
    email: 'TEXT UNIQUE',
    balance_micros: 'BIGINT NOT NULL DEFAULT 0',
    debt_micros: 'BIGINT NOT NULL DEFAULT 0 CHECK (debt_micros >= 0)',
    paid_micros: 'BIGINT NOT NULL DEFAULT 0',
    written_off_micros: 'BIGINT NOT NULL DEFAULT 0',
    /** Its owners are alerted when the balance falls below it. */
    alert_below_micros: 'BIGINT CHECK (alert_below_micros > 0)',
    /** Since when its keys are refused. */
    blocked_at: 'BIGINT',
    created_at: 'BIGINT NOT NULL',
  },
  /** A user's right to act for an account. */
  memberships: {
    user_id: 'TEXT NOT NULL REFERENCES users (id)',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    role: `TEXT NOT NULL CHECK (role IN ('owner', 'accountant'))`,
    created_at: 'BIGINT NOT NULL',
  },
  prices: {
    hash: 'TEXT PRIMARY KEY',
    model: 'TEXT NOT NULL',
    body: 'TEXT NOT NULL',
    created_at: 'BIGINT NOT NULL',
  },
  keys: {
    id: 'TEXT PRIMARY KEY',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    digest: 'TEXT NOT NULL UNIQUE',
    name: 'TEXT NOT NULL',
    last_four: 'TEXT NOT NULL',
    /** JSON, as are the IP addresses. */
    models: 'TEXT',
    budget_micros: 'BIGINT CHECK (budget_micros >= 0)',
    budget_period: `TEXT CHECK (budget_period IN ('total', 'day', 'week', 'month'))`,
    expires_at: 'BIGINT',
    ip_addresses: 'TEXT',
    revoked_at: 'BIGINT',
    /** When the key's account was blocked. */
    blocked_at: 'BIGINT',
    created_at: 'BIGINT NOT NULL',
  },
  /** What each key has spent, by day. */
  key_spending: {
    key_id: 'TEXT NOT NULL',
    day: 'INTEGER NOT NULL',
    spent_micros: 'BIGINT NOT NULL',
    last_at: 'BIGINT NOT NULL DEFAULT 0',
  },
  /** Money that exchanges have set aside. */
  holds: {
    exchange_id: 'TEXT NOT NULL',
    sequence: 'INTEGER NOT NULL',
    account_id: 'TEXT NOT NULL',
    key_id: 'TEXT NOT NULL',
    amount_micros: 'BIGINT NOT NULL CHECK (amount_micros >= 0)',
    worst_micros: 'BIGINT NOT NULL DEFAULT 0',
    state: `TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'charged', 'released', 'expired'))`,
    owner: 'TEXT NOT NULL',
    created_at: 'BIGINT NOT NULL',
    expires_at: 'BIGINT NOT NULL',
    resolved_at: 'BIGINT',
  },
  /** What exchanges were charged; lines, details and flags are JSON. */
  charges: {
    id: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
    exchange_id: 'TEXT NOT NULL',
    sequence: 'INTEGER NOT NULL',
    revision: 'INTEGER NOT NULL DEFAULT 0',
    account_id: 'TEXT NOT NULL',
    key_id: 'TEXT NOT NULL',
    at: 'BIGINT NOT NULL',
    provider: 'TEXT NOT NULL',
    model: 'TEXT NOT NULL',
    dialect: 'TEXT NOT NULL',
    operation: 'TEXT NOT NULL',
    outcome: 'TEXT NOT NULL',
    usage_source: 'TEXT NOT NULL',
    lines: 'TEXT NOT NULL',
    raw_usage: 'TEXT',
    details: 'TEXT',
    flags: 'TEXT NOT NULL',
    amount_micros: 'BIGINT NOT NULL CHECK (amount_micros >= 0)',
    overrun_micros: 'BIGINT NOT NULL CHECK (overrun_micros >= 0)',
  },
  /** The postings that balances are sums of: only the ledger's own operations write them. */
  entries: {
    exchange_id: 'TEXT NOT NULL',
    sequence: 'INTEGER NOT NULL',
    kind: 'TEXT NOT NULL',
    revision: 'INTEGER NOT NULL DEFAULT 0',
    account_id: 'TEXT NOT NULL',
    amount_micros: 'BIGINT NOT NULL CHECK (amount_micros <> 0)',
    at: 'BIGINT NOT NULL',
    payment_id: 'TEXT',
    reason: 'TEXT',
    /** Of credits and debits: where the money came from; null means the operator. */
    source: `TEXT CHECK (source IN ('payment', 'operator', 'starting'))`,
  },
  /** Objects at providers, with the account that each belongs to. */
  objects: {
    provider: 'TEXT NOT NULL',
    kind: 'TEXT NOT NULL' as SqlOf<ObjectKind>,
    id: 'TEXT NOT NULL',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    credential: 'TEXT NOT NULL',
    exchange_id: 'TEXT NOT NULL',
    dialect: 'TEXT',
    /** JSON. */
    facts: 'TEXT',
    listed_at: 'BIGINT',
    created_at: 'BIGINT NOT NULL',
  },
  /**
   * Work that goes on after its exchange. It keeps that exchange's hold, whose owner becomes `jobs`, so that recovery
   * and expiry of exchanges do not end it.
   */
  jobs: {
    provider: 'TEXT NOT NULL',
    kind: 'TEXT NOT NULL' as SqlOf<ObjectKind>,
    id: 'TEXT NOT NULL',
    exchange_id: 'TEXT NOT NULL',
    sequence: 'INTEGER NOT NULL',
    account_id: 'TEXT NOT NULL',
    key_id: 'TEXT NOT NULL',
    credential: 'TEXT NOT NULL',
    dialect: 'TEXT NOT NULL' as SqlOf<DialectName>,
    operation: 'TEXT NOT NULL',
    model: 'TEXT NOT NULL',
    /** JSON. */
    facts: 'TEXT NOT NULL',
    state: `TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'charged', 'released'))`,
    next_poll_at: 'BIGINT NOT NULL',
    polls: 'INTEGER NOT NULL DEFAULT 0',
    deadline_at: 'BIGINT NOT NULL',
    created_at: 'BIGINT NOT NULL',
    resolved_at: 'BIGINT',
  },
  /**
   * Sums of charges by account, day, model, key and outcome, with the ids of the first and the last charge. They are
   * written with the charges, so that pages about a million charges need not read them all, and find those they show
   * without an index for each query. Days are Moscow's, as in `budgetDay`.
   */
  charge_sums: {
    account_id: 'TEXT NOT NULL',
    day: 'INTEGER NOT NULL',
    model: 'TEXT NOT NULL',
    key_id: 'TEXT NOT NULL',
    outcome: 'TEXT NOT NULL',
    charges: 'BIGINT NOT NULL',
    spent_micros: 'BIGINT NOT NULL',
    first_id: 'BIGINT NOT NULL',
    last_id: 'BIGINT NOT NULL',
  },
  /**
   * Low-balance alerts to send. The transaction in which a balance falls below the threshold writes the row, by a
   * trigger, so that no crossing is missed or counted twice, however many nodes there are; a node claims the row before
   * it alerts the owner.
   */
  balance_alerts: {
    account_id: 'TEXT PRIMARY KEY REFERENCES accounts (id)',
    crossings: 'INTEGER NOT NULL DEFAULT 1',
    taken_until: 'BIGINT NOT NULL DEFAULT 0',
  },
} as const

export type KeyRow = RowOf<typeof ledgerColumns.keys>
