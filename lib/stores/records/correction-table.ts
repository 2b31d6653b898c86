import type { TableWords } from '../shared/table-words.ts'

/** A charge's correction: what of it was given back, or taken again of what had been given back. */
export interface CorrectionRow {
  readonly exchange_id: string
  readonly sequence: number
  /** 1 for the first correction of the charge. */
  readonly revision: number
  readonly account_id: string
  /** Given back; negative: taken again. */
  readonly amount_micros: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly operator: string
  /** The account sees it. */
  readonly reason: string
}

/** The table of corrections. */
export interface CorrectionTables {
  readonly charge_corrections: CorrectionRow
}

/** Corrections, append-only. */
export function correctionTables({ integer, options, appendOnly }: TableWords): string {
  return `
CREATE TABLE charge_corrections (
  exchange_id TEXT NOT NULL,
  sequence ${integer} NOT NULL,
  revision ${integer} NOT NULL CHECK (revision > 0),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  amount_micros ${integer} NOT NULL CHECK (amount_micros <> 0),
  at ${integer} NOT NULL,
  operator TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (exchange_id, sequence, revision)
)${options};
CREATE INDEX entries_of_corrections ON entries (account_id, at) WHERE kind = 'correction';
${appendOnly('charge_corrections')}
`
}

/** What of a charge was given back, as a column of a query of `charges`. */
export const returnedColumn = `(SELECT CAST(coalesce(sum(given.amount_micros), 0) AS BIGINT)
  FROM charge_corrections AS given
  WHERE given.exchange_id = charges.exchange_id AND given.sequence = charges.sequence) AS returned_micros`
