import { newId } from '../../platform/new-id.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

/** Lets money that has become free pay what its account owes, within the writer's transaction. */
export class SqliteDebts {
  readonly #statements: ReturnType<typeof prepareDebtStatements>

  constructor(database: SqliteDatabase) {
    this.#statements = prepareDebtStatements(database)
  }

  /** What accounts owe, after their money and holds have changed. */
  pay(accountIds: Iterable<string>, at: number): void {
    for (const accountId of accountIds) {
      const micros = this.#statements.payable.get(accountId) ?? 0
      if (micros <= 0) continue
      const repayment = { id: `repayment:${newId()}`, accountId, micros, at }
      this.#statements.entries.run(repayment)
      this.#statements.repay.run(repayment)
    }
  }

  /** Of all accounts that owe something, after holds of many have ended. */
  payAll(at: number): void {
    this.pay(this.#statements.indebted.all(), at)
  }
}

function prepareDebtStatements(database: SqliteDatabase) {
  return {
    indebted: database.prepare<[], string>('SELECT id FROM accounts WHERE debt_micros > 0').pluck(),
    payable: database
      .prepare<[string], number>(
        `SELECT min(debt_micros, balance_micros - (SELECT coalesce(sum(amount_micros), 0) FROM holds
           WHERE state = 'open' AND account_id = accounts.id))
         FROM accounts WHERE id = ? AND debt_micros > 0`,
      )
      .pluck(),
    entries: database.prepare(
      `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at)
       VALUES (@id, 0, 'repayment', @accountId, -@micros, @at), (@id, 0, 'repaid', 'house:overrun', @micros, @at)`,
    ),
    repay: database.prepare(
      `UPDATE accounts SET balance_micros = balance_micros - @micros, debt_micros = debt_micros - @micros
       WHERE id = @accountId`,
    ),
  }
}
