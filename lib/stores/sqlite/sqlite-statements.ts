import type { SqliteDatabase } from './sqlite-database.ts'
import type {
  ChargeOperation,
  GrowOperation,
  HoldOperation,
  MovementOperation,
  ObjectOperation,
  PriceOperation,
  ReleaseOperation,
} from '../shared/store-operation.ts'

/** What a batch has changed of an account; all zero when only a hold has ended. */
export interface AccountChange {
  readonly accountId: string
  balanceMicros: number
  debtMicros: number
  paidMicros: number
  at: number
}

/** A movement as the account's entry: money that goes out is negative. */
interface EnteredMovement extends Omit<MovementOperation, 'kind'> {
  readonly kind: 'credit' | 'debit' | 'correction'
}

/** What a batch has charged to a key on a day. */
export interface KeyDay {
  readonly keyId: string
  readonly day: number
  spentMicros: number
  lastAt: number
}

/** What a batch has charged, by everything that pages group by. */
export interface ChargeSum extends Pick<ChargeOperation, 'accountId' | 'keyId' | 'model' | 'outcome'> {
  readonly day: number
  charges: number
  spentMicros: number
  readonly firstId: number
  lastId: number
}

function prepareTransactions(database: SqliteDatabase) {
  return {
    begin: database.prepare('BEGIN IMMEDIATE'),
    commit: database.prepare('COMMIT'),
    rollback: database.prepare('ROLLBACK'),
    savepoint: database.prepare('SAVEPOINT one'),
    undo: database.prepare('ROLLBACK TO one'),
    keep: database.prepare('RELEASE one'),
  }
}

/** The writer's statements, prepared once. Most receive a whole operation, and bind the members that they name. */
export function prepareStatements(database: SqliteDatabase) {
  return {
    ...prepareTransactions(database),
    charge: database.prepare<ChargeOperation>(
      `INSERT INTO charges (exchange_id, sequence, account_id, key_id, at, provider, model, dialect, operation,
         outcome, usage_source, lines, raw_usage, details, flags, amount_micros, overrun_micros)
       VALUES (@exchangeId, @sequence, @accountId, @keyId, @at, @provider, @model, @dialect, @operation,
         @outcome, @usageSource, @lines, @rawUsage, @details, @flags, @amountMicros, @overrunMicros)`,
    ),
    /** The entries of nearly every charge, in one statement: from the account to sales. */
    chargeEntries: database.prepare<ChargeOperation>(
      `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at)
       VALUES (@exchangeId, @sequence, 'charge', @accountId, -@amountMicros, @at),
         (@exchangeId, @sequence, 'revenue', 'house:revenue', @amountMicros, @at)`,
    ),
    /** The account pays what it has, if anything, and the house the rest; sales are the whole cost. */
    overrunEntries: database.prepare<ChargeOperation>(
      `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at)
       SELECT @exchangeId, @sequence, 'charge', @accountId, -@amountMicros, @at WHERE @amountMicros > 0
       UNION ALL SELECT @exchangeId, @sequence, 'overrun', 'house:overrun', -@overrunMicros, @at
       UNION ALL SELECT @exchangeId, @sequence, 'revenue', 'house:revenue', @amountMicros + @overrunMicros, @at`,
    ),
    /** Returns what the account then owes. */
    balance: database
      .prepare<AccountChange, number>(
        `UPDATE accounts SET balance_micros = balance_micros + @balanceMicros,
           debt_micros = debt_micros + @debtMicros, paid_micros = paid_micros + @paidMicros
         WHERE id = @accountId RETURNING debt_micros`,
      )
      .pluck(),
    debt: database.prepare<[string], number>('SELECT debt_micros FROM accounts WHERE id = ?').pluck(),
    spending: database.prepare<KeyDay>(
      `INSERT INTO key_spending (key_id, day, spent_micros, last_at) VALUES (@keyId, @day, @spentMicros, @lastAt)
       ON CONFLICT DO UPDATE SET spent_micros = spent_micros + excluded.spent_micros,
         last_at = max(last_at, excluded.last_at)`,
    ),
    chargeSum: database.prepare<ChargeSum>(
      `INSERT INTO charge_sums (account_id, day, model, key_id, outcome, charges, spent_micros, first_id, last_id)
       VALUES (@accountId, @day, @model, @keyId, @outcome, @charges, @spentMicros, @firstId, @lastId)
       ON CONFLICT DO UPDATE SET charges = charges + excluded.charges,
         spent_micros = spent_micros + excluded.spent_micros, last_id = excluded.last_id`,
    ),
    price: database.prepare<PriceOperation>(
      `INSERT INTO prices (hash, model, body, created_at) VALUES (@hash, @model, @body, @at)
       ON CONFLICT DO NOTHING`,
    ),
    object: database.prepare<ObjectOperation>(
      `INSERT INTO objects (provider, kind, id, account_id, credential, exchange_id, dialect, facts, created_at,
         listed_at)
       VALUES (@provider, @objectKind, @id, @accountId, @credential, @exchangeId, @dialect, @facts, @at,
         @listedAt)
       ON CONFLICT DO NOTHING`,
    ),
    ...prepareMovementStatements(database),
    ...prepareHoldStatements(database),
    accountKind: database.prepare('SELECT kind FROM accounts WHERE id = ?').pluck(),
  }
}

function prepareMovementStatements(database: SqliteDatabase) {
  return {
    movement: database.prepare<EnteredMovement, Pick<MovementOperation, 'accountId' | 'amountMicros'>>(
      `SELECT account_id AS accountId, amount_micros AS amountMicros FROM entries
       WHERE exchange_id = @id AND sequence = 0 AND kind = @kind`,
    ),
    movementEntries: database.prepare<EnteredMovement>(
      `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at, reason, source)
       VALUES (@id, 0, @kind, @accountId, @amountMicros, @at, @reason, @source),
         (@id, 0, 'cash', 'house:cash', -@amountMicros, @at, @reason, NULL)`,
    ),
    correctionEntries: database.prepare<EnteredMovement>(
      `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at, reason)
       VALUES (@id, 0, 'correction', @accountId, @amountMicros, @at, @reason),
         (@id, 0, 'corrected', 'house:revenue', -@amountMicros, @at, @reason)`,
    ),
  }
}

function prepareHoldStatements(database: SqliteDatabase) {
  return {
    hold: database.prepare<HoldOperation>(
      `INSERT INTO holds (exchange_id, sequence, account_id, key_id, amount_micros, worst_micros, owner,
         created_at, expires_at)
       VALUES (@exchangeId, @sequence, @accountId, @keyId, @likelyMicros, @worstMicros, @owner, @at, @expiresAt)`,
    ),
    grow: database.prepare<GrowOperation>(
      `UPDATE holds SET amount_micros = @likelyMicros, worst_micros = @worstMicros
       WHERE exchange_id = @exchangeId AND sequence = @sequence AND state = 'open'`,
    ),
    resolve: database.prepare<ReleaseOperation>(
      `UPDATE holds SET state = @state, resolved_at = @at
       WHERE exchange_id = @exchangeId AND sequence = @sequence AND state = 'open'`,
    ),
    /** What an exchange used is owed, even when it lasted longer than its hold. */
    endCharged: database.prepare<ChargeOperation>(
      `UPDATE holds SET state = 'charged', resolved_at = @at
       WHERE exchange_id = @exchangeId AND sequence = @sequence AND state IN ('open', 'expired')`,
    ),
  }
}

/** Every statement of the writer, prepared once. */
export type Statements = ReturnType<typeof prepareStatements>
