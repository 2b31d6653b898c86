import type { TableWords } from '../shared/table-words.ts'

/** The Central Bank's rate of a day, as it was found first. Times are milliseconds since the epoch. */
export interface RateRow {
  /** `2026-11-24`, in Moscow. */
  readonly day: string
  /** Roubles for a dollar, a decimal. */
  readonly usd_rub: string
  /** `held`: it differs too much from the one before, and is not used until somebody accepts it. */
  readonly state: 'used' | 'held'
  readonly found_at: number
  readonly accepted_at: number | null
}

/** The table of rates. */
export interface RateTables {
  readonly exchange_rates: RateRow
}

/** Rates. */
export function rateTables({ integer, options }: TableWords): string {
  return `
CREATE TABLE exchange_rates (
  day TEXT PRIMARY KEY,
  usd_rub TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('used', 'held')),
  found_at ${integer} NOT NULL,
  accepted_at ${integer}
)${options};
`
}
