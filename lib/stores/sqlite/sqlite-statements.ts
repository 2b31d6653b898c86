import type { SqliteDatabase } from './sqlite-database.ts'

/** The writer's statements, prepared once. */
export function prepareStatements(database: SqliteDatabase) {
  return {
    begin: database.prepare('BEGIN IMMEDIATE'),
    commit: database.prepare('COMMIT'),
    rollback: database.prepare('ROLLBACK'),
    savepoint: database.prepare('SAVEPOINT one'),
    undo: database.prepare('ROLLBACK TO one'),
    keep: database.prepare('RELEASE one'),
    charge: database.prepare(
      `INSERT INTO charges (exchange_id, sequence, account_id, key_id, at, provider, model, dialect, operation,
         outcome, usage_source, lines, raw_usage, details, flags, amount_micros, overrun_micros)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    entry: database.prepare(
      `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at)
       VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    /** What nearly every charge enters, in one statement: from the account to sales. */
    chargeEntries: database.prepare(
      `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at)
       VALUES (?, ?, 'charge', ?, ?, ?), (?, ?, 'revenue', 'house:revenue', ?, ?)`,
    ),
    /** Answers what the account owes then. */
    balance: database
      .prepare<[number, number, number, string], number>(
        `UPDATE accounts SET balance_micros = balance_micros + ?, debt_micros = debt_micros + ?,
           paid_micros = paid_micros + ? WHERE id = ? RETURNING debt_micros`,
      )
      .pluck(),
    debt: database.prepare<[string], number>('SELECT debt_micros FROM accounts WHERE id = ?').pluck(),
    spending: database.prepare(
      `INSERT INTO key_spending (key_id, day, spent_micros, last_at) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET spent_micros = spent_micros + excluded.spent_micros,
         last_at = max(last_at, excluded.last_at)`,
    ),
    chargeSum: database.prepare(
      `INSERT INTO charge_sums (account_id, day, model, key_id, outcome, charges, spent_micros, first_id, last_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET charges = charges + excluded.charges,
         spent_micros = spent_micros + excluded.spent_micros, last_id = excluded.last_id`,
    ),
    price: database.prepare(
      'INSERT INTO prices (hash, model, body, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    object: database.prepare(
      `INSERT INTO objects (provider, kind, id, account_id, credential, exchange_id, dialect, facts, created_at,
         listed_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    account: database.prepare(
      `INSERT INTO accounts (id, kind, name, email, created_at) VALUES (?, 'customer', ?, ?, ?)`,
    ),
    accountByEmail: database.prepare('SELECT id FROM accounts WHERE email = ?').pluck(),
    accountKind: database.prepare('SELECT kind FROM accounts WHERE id = ?').pluck(),
    user: database.prepare(
      'INSERT INTO users (id, email, name, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (email) DO NOTHING',
    ),
    userByEmail: database.prepare('SELECT id FROM users WHERE email = ?').pluck(),
    membership: database.prepare(
      `INSERT INTO memberships (user_id, account_id, role, created_at) VALUES (?, ?, 'owner', ?)`,
    ),
    ...prepareMovementStatements(database),
    ...prepareHoldStatements(database),
    ...prepareKeyStatements(database),
  }
}

function prepareMovementStatements(database: SqliteDatabase) {
  return {
    movement: database.prepare<[string, string], { account_id: string; amount_micros: number }>(
      'SELECT account_id, amount_micros FROM entries WHERE exchange_id = ? AND sequence = 0 AND kind = ?',
    ),
    movementEntries: database.prepare(
      `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at, reason, source)
       VALUES (?, 0, ?, ?, ?, ?, ?, ?), (?, 0, 'cash', 'house:cash', ?, ?, ?, NULL)`,
    ),
    correctionEntries: database.prepare(
      `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at, reason)
       VALUES (?, 0, 'correction', ?, ?, ?, ?), (?, 0, 'corrected', 'house:revenue', ?, ?, ?)`,
    ),
  }
}

function prepareHoldStatements(database: SqliteDatabase) {
  return {
    hold: database.prepare(
      `INSERT INTO holds (exchange_id, sequence, account_id, key_id, amount_micros, worst_micros, owner,
         created_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    grow: database.prepare(
      `UPDATE holds SET amount_micros = ?, worst_micros = ?
       WHERE exchange_id = ? AND sequence = ? AND state = 'open'`,
    ),
    resolve: database.prepare(
      `UPDATE holds SET state = ?, resolved_at = ? WHERE exchange_id = ? AND sequence = ? AND state = 'open'`,
    ),
    /** What an exchange used is owed, also when it lasted longer than its hold. */
    endCharged: database.prepare(
      `UPDATE holds SET state = 'charged', resolved_at = ?
       WHERE exchange_id = ? AND sequence = ? AND state IN ('open', 'expired')`,
    ),
  }
}

function prepareKeyStatements(database: SqliteDatabase) {
  return {
    key: database.prepare(
      `INSERT INTO keys (id, account_id, digest, name, last_four, models, budget_micros, budget_period,
         expires_at, ip_addresses, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    activeKeys: database
      .prepare('SELECT count(*) FROM keys WHERE account_id = ? AND revoked_at IS NULL')
      .pluck(),
    accountIsBlocked: database
      .prepare('SELECT 1 FROM accounts WHERE id = ? AND blocked_at IS NOT NULL')
      .pluck(),
  }
}

/** Every statement of the writer, prepared once. */
export type Statements = ReturnType<typeof prepareStatements>
