/**
 * What admission by two sums keeps: the worst cost of each hold, what an account owes and what it has paid. What
 * was overrun before this step is the house's loss for good, `written_off_micros`; keys have spent it all the same.
 * Credits of before are the operator's.
 */
function debtColumns(integer: 'INTEGER' | 'BIGINT'): string {
  return `
ALTER TABLE holds ADD COLUMN worst_micros ${integer} NOT NULL DEFAULT 0;
UPDATE holds SET worst_micros = amount_micros WHERE state = 'open';

ALTER TABLE entries ADD COLUMN source TEXT CHECK (source IN ('payment', 'operator', 'starting'));

ALTER TABLE accounts ADD COLUMN debt_micros ${integer} NOT NULL DEFAULT 0 CHECK (debt_micros >= 0);
ALTER TABLE accounts ADD COLUMN paid_micros ${integer} NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN written_off_micros ${integer} NOT NULL DEFAULT 0;
CREATE INDEX accounts_in_debt ON accounts (id) WHERE debt_micros > 0;
UPDATE accounts SET written_off_micros = lost.micros
  FROM (SELECT account_id, sum(overrun_micros) AS micros FROM charges WHERE overrun_micros > 0 GROUP BY 1) AS lost
  WHERE accounts.id = lost.account_id;
UPDATE accounts SET paid_micros = credits.micros
  FROM (SELECT account_id, sum(amount_micros) AS micros FROM entries WHERE kind = 'credit' GROUP BY 1) AS credits
  WHERE accounts.id = credits.account_id;
UPDATE key_spending SET spent_micros = spent_micros + overrun.micros
  FROM (SELECT key_id, (at + 10800000) / 86400000 AS day, sum(overrun_micros) AS micros
        FROM charges WHERE overrun_micros > 0 GROUP BY 1, 2) AS overrun
  WHERE key_spending.key_id = overrun.key_id AND key_spending.day = overrun.day;
`
}

/** The step that brings debts to a SQLite store. */
export const sqliteDebts = debtColumns('INTEGER')

/** The step that brings debts to a PostgreSQL store; the function that writes them is made anew after it. */
export const postgresDebts = `${debtColumns('BIGINT')}
ALTER TABLE accounts ADD COLUMN worst_micros BIGINT NOT NULL DEFAULT 0;
UPDATE accounts SET worst_micros = held_micros WHERE held_micros <> 0;
`
