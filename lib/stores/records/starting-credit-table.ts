import type { TableWords } from '../shared/table-words.ts'

/** An account that was given its starting credit. The email stands as a digest of its normal form. */
interface StartingCreditRow {
  readonly email_digest: string
  readonly account_id: string
  /** Days since the epoch in Moscow, and the place among the credits of the day. */
  readonly day: number
  readonly place: number
  readonly amount_micros: number
  readonly at: number
}

/** The table of starting credits. */
export interface StartingCreditTables {
  readonly starting_credits: StartingCreditRow
}

/** Starting credits. */
export function startingCreditTables({ integer, options }: TableWords): string {
  return `
CREATE TABLE starting_credits (
  email_digest TEXT PRIMARY KEY,
  account_id TEXT NOT NULL UNIQUE REFERENCES accounts (id),
  day INTEGER NOT NULL,
  place INTEGER NOT NULL,
  amount_micros ${integer} NOT NULL CHECK (amount_micros > 0),
  at ${integer} NOT NULL,
  UNIQUE (day, place)
)${options};
`
}
