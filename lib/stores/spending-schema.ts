/**
 * What accounts spent, by day and model, and when keys were last used: sums that are written with the charges,
 * so that pages about a million charges need not read them. Days are Moscow's, as `budgetDay` has them.
 */
function spendingTables(integer: 'INTEGER' | 'BIGINT', options: string): string {
  return `
CREATE TABLE model_spending (
  account_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  model TEXT NOT NULL,
  charges ${integer} NOT NULL,
  spent_micros ${integer} NOT NULL,
  PRIMARY KEY (account_id, day, model)
)${options};
INSERT INTO model_spending (account_id, day, model, charges, spent_micros)
  SELECT account_id, (at + 10800000) / 86400000, model, count(*), sum(amount_micros)
  FROM charges WHERE revision = 0 GROUP BY 1, 2, 3;

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
