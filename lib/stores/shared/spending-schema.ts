/**
 * What charges come to, by account, day, model, key and outcome, with the first and the last of them, and when keys
 * were last used: sums that are written with the charges, so that pages about a million charges need not read them,
 * and find those they show without an index for each question. Days are Moscow's, as `budgetDay` has them.
 */
function spendingTables(integer: 'INTEGER' | 'BIGINT', options: string): string {
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
INSERT INTO charge_sums (account_id, day, model, key_id, outcome, charges, spent_micros, first_id, last_id)
  SELECT account_id, (at + 10800000) / 86400000, model, key_id, outcome, count(*), sum(amount_micros), min(id), max(id)
  FROM charges WHERE revision = 0 GROUP BY 1, 2, 3, 4, 5;

ALTER TABLE key_spending ADD COLUMN last_at ${integer} NOT NULL DEFAULT 0;
UPDATE key_spending SET last_at = used.at
  FROM (SELECT key_id, (at + 10800000) / 86400000 AS day, max(at) AS at FROM charges GROUP BY 1, 2) AS used
  WHERE key_spending.key_id = used.key_id AND key_spending.day = used.day;
`
}

/** The step that brings the sums to a SQLite store. */
export const sqliteSpending = spendingTables('INTEGER', ' STRICT, WITHOUT ROWID')

/** The step that brings the sums to a PostgreSQL store; the function that writes them is made anew after it. */
export const postgresSpending = spendingTables('BIGINT', ' WITH (fillfactor = 50)')
