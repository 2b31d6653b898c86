import { budgetDay } from '../ledger/key-spending.ts'
import { sqliteErrorCode } from './sqlite-database.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { prepareStatements } from './sqlite-statements.ts'
import type { Statements } from './sqlite-statements.ts'
import type {
  AccountOperation,
  BatchReport,
  ChargeOperation,
  CreditOperation,
  KeyOperation,
  StoreOperation,
} from './store-operation.ts'

/** One operation is refused for what it asks, while others of its batch may stand. */
class OperationRefusedError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Errors of the disk or the file: no operation of the batch can do anything about them. */
const storeFailures =
  /^SQLITE_(FULL|IOERR|BUSY|LOCKED|NOMEM|READONLY|CORRUPT|NOTADB|CANTOPEN|PROTOCOL|PERM|AUTH|INTERRUPT)/

/** Writes batches of operations, each batch as one transaction. */
export class SqliteBatch {
  readonly #database: SqliteDatabase
  readonly #statements: Statements
  /** Sums by account and by key and day: a row that many charges share is updated once a batch. */
  readonly #balanceChanges = new Map<string, number>()
  readonly #spendingChanges = new Map<string, Map<number, number>>()

  constructor(database: SqliteDatabase) {
    this.#database = database
    this.#statements = prepareStatements(database)
  }

  /** Never throws: what went wrong is in the report. */
  run(operations: readonly StoreOperation[]): BatchReport {
    try {
      return this.#runTogether(operations)
    } catch (error) {
      this.#abandon()
      if (isStoreFailure(error)) return failedReport(error)
    }
    // Something in the batch cannot stand. Once more, one by one, to find it and keep the rest.
    try {
      return this.#runOneByOne(operations)
    } catch (error) {
      this.#abandon()
      return failedReport(error)
    }
  }

  #runTogether(operations: readonly StoreOperation[]): BatchReport {
    const answers: [number, unknown][] = []
    this.#statements.begin.run()
    for (let index = 0; index < operations.length; index += 1) {
      const operation = operations[index]
      if (operation === undefined) continue
      const answer = this.#apply(operation)
      if (answer !== undefined) answers.push([index, answer])
    }
    this.#writeSums()
    this.#statements.commit.run()
    return { answers, refusals: [] }
  }

  #runOneByOne(operations: readonly StoreOperation[]): BatchReport {
    const answers: [number, unknown][] = []
    const refusals: [number, string, string][] = []
    this.#statements.begin.run()
    for (const [index, operation] of operations.entries()) {
      this.#statements.savepoint.run()
      try {
        const answer = this.#apply(operation)
        this.#writeSums()
        if (answer !== undefined) answers.push([index, answer])
      } catch (error) {
        if (isStoreFailure(error)) throw error
        this.#forgetSums()
        this.#statements.undo.run()
        const code = error instanceof OperationRefusedError ? error.code : 'operation_failed'
        refusals.push([index, code, error instanceof Error ? error.message : String(error)])
      }
      this.#statements.keep.run()
    }
    this.#statements.commit.run()
    return { answers, refusals }
  }

  #abandon(): void {
    this.#forgetSums()
    // After some failures SQLite has rolled back by itself.
    if (this.#database.inTransaction) this.#statements.rollback.run()
  }

  #apply(operation: StoreOperation): unknown {
    const statements = this.#statements
    switch (operation[0]) {
      case 'hold':
        statements.hold.run(
          operation[1],
          operation[2],
          operation[3],
          operation[4],
          operation[5],
          operation[6],
          operation[7],
          operation[8],
        )
        return undefined
      case 'charge':
        this.#charge(operation)
        return undefined
      case 'release':
        this.#resolve(operation[1], operation[2], operation[3], operation[4])
        return undefined
      case 'price':
        statements.price.run(operation.slice(1))
        return undefined
      case 'object':
        statements.object.run(operation.slice(1))
        return undefined
      case 'account':
        return this.#account(operation)
      case 'credit':
        return this.#credit(operation)
      case 'key':
        return this.#key(operation)
      case 'revoke':
        return this.#revoke(operation[1], operation[2])
    }
  }

  #resolve(exchangeId: string, sequence: number, state: string, at: number): void {
    if (this.#statements.resolve.run(state, at, exchangeId, sequence).changes !== 1) {
      throw new OperationRefusedError('hold_not_open', `the hold ${exchangeId}/${sequence} is not open`)
    }
  }

  #charge(charge: ChargeOperation): void {
    const [, exchangeId, sequence, accountId, keyId, at] = charge
    const amountMicros = charge[16]
    const overrunMicros = charge[17]
    this.#resolve(exchangeId, sequence, 'charged', at)
    this.#statements.charge.run(
      exchangeId,
      sequence,
      accountId,
      keyId,
      at,
      charge[6],
      charge[7],
      charge[8],
      charge[9],
      charge[10],
      charge[11],
      charge[12],
      charge[13],
      charge[14],
      charge[15],
      amountMicros,
      overrunMicros,
    )
    if (amountMicros > 0) this.#addSpending(keyId, budgetDay(at), amountMicros)
    if (overrunMicros > 0) this.#enterOverrun(charge)
    else if (amountMicros > 0) {
      this.#statements.chargeEntries.run(
        exchangeId,
        sequence,
        accountId,
        -amountMicros,
        at,
        exchangeId,
        sequence,
        amountMicros,
        at,
      )
      this.#addBalance(accountId, -amountMicros)
    }
  }

  /** The account pays what it has, the house the rest; sales are what was used. */
  #enterOverrun(charge: ChargeOperation): void {
    const [, exchangeId, sequence, accountId, , at] = charge
    const paid = charge[16]
    const rest = charge[17]
    if (paid > 0) this.#enter(exchangeId, sequence, 'charge', accountId, -paid, at, null)
    this.#enter(exchangeId, sequence, 'overrun', 'house:overrun', -rest, at, null)
    this.#enter(exchangeId, sequence, 'revenue', 'house:revenue', paid + rest, at, null)
  }

  #enter(
    exchangeId: string,
    sequence: number,
    kind: string,
    accountId: string,
    amountMicros: number,
    at: number,
    reason: string | null,
  ): void {
    this.#statements.entry.run(exchangeId, sequence, kind, accountId, amountMicros, at, reason)
    if (!accountId.startsWith('house:')) this.#addBalance(accountId, amountMicros)
  }

  #addBalance(accountId: string, amountMicros: number): void {
    this.#balanceChanges.set(accountId, (this.#balanceChanges.get(accountId) ?? 0) + amountMicros)
  }

  #account([, id, userId, email, name, at]: AccountOperation): undefined {
    if (this.#statements.accountByEmail.get(email) !== undefined) {
      throw new OperationRefusedError('email_taken', `there is an account with the e-mail ${email}`)
    }
    this.#statements.account.run(id, name, email, at)
    this.#statements.user.run(userId, email, name, at)
    this.#statements.membership.run(this.#statements.userByEmail.get(email), id, at)
  }

  /** Answers whether money was booked: the same credit again changes nothing. */
  #credit([, id, accountId, amountMicros, reason, at]: CreditOperation): boolean {
    const earlier = this.#statements.credit.get(id)
    if (earlier !== undefined) {
      if (earlier.account_id === accountId && earlier.amount_micros === amountMicros) return false
      throw new OperationRefusedError(
        'idempotency_conflict',
        'another credit was booked under this idempotency key',
      )
    }
    this.#requireCustomer(accountId)
    this.#enter(id, 0, 'credit', accountId, amountMicros, at, reason)
    this.#enter(id, 0, 'cash', 'house:cash', -amountMicros, at, reason)
    return true
  }

  #key(key: KeyOperation): undefined {
    this.#requireCustomer(key[2])
    this.#statements.key.run(key.slice(1))
  }

  /** Answers whether the key was valid until now. */
  #revoke(id: string, at: number): boolean {
    if (this.#statements.keyExists.get(id) === undefined) {
      throw new OperationRefusedError('key_not_found', `there is no key ${id}`)
    }
    return this.#statements.revoke.run(at, id).changes === 1
  }

  #requireCustomer(accountId: string): void {
    if (this.#statements.accountKind.get(accountId) !== 'customer') {
      throw new OperationRefusedError('account_not_found', `there is no account ${accountId}`)
    }
  }

  #addSpending(keyId: string, day: number, amountMicros: number): void {
    let days = this.#spendingChanges.get(keyId)
    if (days === undefined) this.#spendingChanges.set(keyId, (days = new Map()))
    days.set(day, (days.get(day) ?? 0) + amountMicros)
  }

  #writeSums(): void {
    for (const [accountId, change] of this.#balanceChanges) this.#statements.balance.run(change, accountId)
    for (const [keyId, days] of this.#spendingChanges) {
      for (const [day, spentMicros] of days) this.#statements.spending.run(keyId, day, spentMicros)
    }
    this.#forgetSums()
  }

  #forgetSums(): void {
    this.#balanceChanges.clear()
    this.#spendingChanges.clear()
  }
}

function isStoreFailure(error: unknown): boolean {
  const code = sqliteErrorCode(error)
  return code !== undefined && storeFailures.test(code)
}

function failedReport(error: unknown): BatchReport {
  const code = sqliteErrorCode(error) ?? 'unknown'
  const message = error instanceof Error ? error.message : String(error)
  return { error: { code, message }, answers: [], refusals: [] }
}
