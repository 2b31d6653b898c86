/**
 * What charges come to, by account, day, model, key and outcome, with the first and the last of them: sums that are written with the charges, so that pages about a million charges need not read them,
 * and find those they show without an index for each question. Days are Moscow's, as `budgetDay` has them.
 */
function chargeSums(integer: 'INTEGER' | 'BIGINT', options: string): string {
  return `
CREATE TABLE charge_sums (
  account_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  model TEXT NOT NULL,
  key_id TEXT NOT NULL,
  outcome TEXT NOT NULL,
  charges ${integer} NOT NULL,
  spent_micros ${integer} NOT NULL,
  first_id ${integer} NOT NULL,
  last_id ${integer} NOT NULL,
  PRIMARY KEY (account_id, day, model, key_id, outcome)
)${options};
`
}

/** The sums on SQLite. */
export const sqliteSpending = chargeSums('INTEGER', ' STRICT, WITHOUT ROWID')

/** The sums on PostgreSQL. */
export const postgresSpending = chargeSums('BIGINT', ' WITH (fillfactor = 50)')
