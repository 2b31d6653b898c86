/**
 * What an account is alerted of, in the words of either store. That a balance falls below the bound is seen by
 * the transaction in which it does, so that no crossing is missed or seen twice, by however many nodes; whoever
 * tells the owner takes the row first.
 */
function alertTables(integer: 'INTEGER' | 'BIGINT', options: string): string {
  return `
CREATE TABLE balance_alerts (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  crossings INTEGER NOT NULL DEFAULT 1,
  taken_until ${integer} NOT NULL DEFAULT 0
)${options};
`
}

const isCrossing =
  'OLD.balance_micros >= NEW.alert_below_micros AND NEW.balance_micros < NEW.alert_below_micros'
const insertAlert = `INSERT INTO balance_alerts (account_id) VALUES (NEW.id)
  ON CONFLICT (account_id) DO UPDATE SET crossings = balance_alerts.crossings + 1;`

/** Alerts of accounts on SQLite. */
export const sqliteBalanceAlerts = `${alertTables('INTEGER', ' STRICT, WITHOUT ROWID')}
CREATE TRIGGER accounts_alert AFTER UPDATE OF balance_micros ON accounts
WHEN ${isCrossing}
BEGIN ${insertAlert} END;
`

/** The same on PostgreSQL. */
export const postgresBalanceAlerts = `${alertTables('BIGINT', '')}
CREATE FUNCTION alert_of_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  ${insertAlert}
  RETURN NULL;
END $$;
CREATE TRIGGER accounts_alert AFTER UPDATE OF balance_micros ON accounts FOR EACH ROW
  WHEN (${isCrossing}) EXECUTE FUNCTION alert_of_balance();
`
