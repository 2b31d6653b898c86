import type { RowOf, TableWords } from '../shared/store-schema.ts'

/** Columns of the tables below. */
export const customerColumns = {
  /** An invitation to an account that is neither accepted nor declined yet. */
  invitations: {
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    /** In lower case, as users have it. */
    email: 'TEXT NOT NULL',
    role: `TEXT NOT NULL CHECK (role IN ('accountant'))`,
    invited_by: 'TEXT NOT NULL REFERENCES users (id)',
    created_at: 'BIGINT NOT NULL',
    expires_at: 'BIGINT NOT NULL',
  },
  /** What an operator noted about a customer; customers do not see it. */
  account_notes: {
    id: 'TEXT PRIMARY KEY',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    /** Milliseconds since the epoch. */
    at: 'BIGINT NOT NULL',
    operator: 'TEXT NOT NULL',
    note: 'TEXT NOT NULL',
  },
  /** An account that received its starting credit. The email is stored as a digest of its normalized form. */
  starting_credits: {
    email_digest: 'TEXT PRIMARY KEY',
    account_id: 'TEXT NOT NULL UNIQUE REFERENCES accounts (id)',
    /** Days since the epoch in Moscow, and the position among the credits of the day. */
    day: 'INTEGER NOT NULL',
    place: 'INTEGER NOT NULL',
    amount_micros: 'BIGINT NOT NULL CHECK (amount_micros > 0)',
    at: 'BIGINT NOT NULL',
  },
  /** A correction of a charge: money that was returned, or charged again of what had been returned. */
  charge_corrections: {
    exchange_id: 'TEXT NOT NULL',
    sequence: 'BIGINT NOT NULL',
    /** 1 for the first correction of the charge. */
    revision: 'BIGINT NOT NULL CHECK (revision > 0)',
    account_id: 'TEXT NOT NULL REFERENCES accounts (id)',
    /** Returned; negative: charged again. */
    amount_micros: 'BIGINT NOT NULL CHECK (amount_micros <> 0)',
    /** Milliseconds since the epoch. */
    at: 'BIGINT NOT NULL',
    operator: 'TEXT NOT NULL',
    /** The account sees it. */
    reason: 'TEXT NOT NULL',
  },
} as const

export type AccountNoteRow = RowOf<typeof customerColumns.account_notes>

/** Tables about customers; notes and corrections are append-only. */
export function customerTables({ table, appendOnly }: TableWords): string {
  return `
${table(customerColumns, 'invitations', ['PRIMARY KEY (account_id, email)'])}
CREATE INDEX invitations_by_email ON invitations (email);

${table(customerColumns, 'account_notes')}
CREATE INDEX account_notes_by_account ON account_notes (account_id, at);
${appendOnly('account_notes')}

${table(customerColumns, 'starting_credits', ['UNIQUE (day, place)'])}

${table(customerColumns, 'charge_corrections', ['PRIMARY KEY (exchange_id, sequence, revision)'])}
CREATE INDEX entries_of_corrections ON entries (account_id, at) WHERE kind = 'correction';
${appendOnly('charge_corrections')}
`
}

/** What corrections have returned of a charge, as a column of a query of `charges`. */
export const returnedColumn = `(SELECT CAST(coalesce(sum(given.amount_micros), 0) AS BIGINT)
  FROM charge_corrections AS given
  WHERE given.exchange_id = charges.exchange_id AND given.sequence = charges.sequence) AS returned_micros`
