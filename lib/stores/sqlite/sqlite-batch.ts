import { AccountError } from '../../accounts/accounts.ts'
import { NotOpenError, SqliteEntries, SqliteJobRows } from './sqlite-entries.ts'
import { sqliteErrorCode, type SqliteDatabase, type SqliteStatement } from './sqlite-database.ts'
import { prepareStatements } from './sqlite-statements.ts'
import type { Statements } from './sqlite-statements.ts'
import type {
  BatchReport,
  MovementOperation,
  StoreOperation,
  TransactionAnswer,
  TransactionStep,
  WriteStep,
} from '../shared/store-operation.ts'
import { recordConflict, rowsMessage } from '../records/records.ts'
import type { SqlStatement } from '../shared/store-queries.ts'

/** Errors of the disk or the file, which no operation of the batch has caused. */
const storeFailures =
  /^SQLITE_(FULL|IOERR|BUSY|LOCKED|NOMEM|READONLY|CORRUPT|NOTADB|CANTOPEN|PROTOCOL|PERM|AUTH|INTERRUPT)/

/** Runs given statements, each prepared once; there are a few dozen different ones. */
class RareStatements {
  readonly #database: SqliteDatabase
  readonly #prepared = new Map<string, SqliteStatement>()

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  /** Returns the rows of the last one. */
  run(statements: readonly SqlStatement[]): readonly unknown[] {
    let rows: readonly unknown[] = []
    for (const statement of statements) rows = this.runOne(statement).rows
    return rows
  }

  /** Returns the statement's rows, and how many rows it returned or changed. */
  runOne({ sql, values }: SqlStatement): { readonly rows: readonly unknown[]; readonly count: number } {
    const statement = this.#prepare(sql)
    if (!statement.reader) return { rows: [], count: statement.run(...values).changes }
    const rows = statement.all(...values)
    return { rows, count: rows.length }
  }

  #prepare(sql: string): SqliteStatement {
    let statement = this.#prepared.get(sql)
    if (statement === undefined) this.#prepared.set(sql, (statement = this.#database.prepare(sql)))
    return statement
  }
}

/** Runs the steps of a transaction within the writer's own, which undoes all of them when one throws. */
function runTransaction(
  steps: readonly TransactionStep[],
  statements: RareStatements,
  move: (operation: MovementOperation) => boolean,
): TransactionAnswer {
  const rows: (readonly unknown[])[] = []
  const booked: number[] = []
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'write') rows.push(runWrite(index, step, statements))
    else {
      if (move(step)) booked.push(index)
      rows.push([])
    }
  }
  return { rows, booked }
}

function runWrite(index: number, step: WriteStep, statements: RareStatements): readonly unknown[] {
  const { rows, count } = unlessTaken(() => statements.runOne(step))
  if (step.rows !== null && count !== step.rows) {
    throw new AccountError(recordConflict, rowsMessage(index + 1, count, step.rows))
  }
  return rows
}

/** A row that exists already is a conflict like any other. */
function unlessTaken<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    const code = sqliteErrorCode(error)
    if (code !== 'SQLITE_CONSTRAINT_UNIQUE' && code !== 'SQLITE_CONSTRAINT_PRIMARYKEY') throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new AccountError(recordConflict, message)
  }
}

/** Writes batches of operations, each batch as one transaction. */
export class SqliteBatch {
  readonly #database: SqliteDatabase
  readonly #statements: Statements
  readonly #rare: RareStatements
  readonly #entries: SqliteEntries
  readonly #jobs: SqliteJobRows

  constructor(database: SqliteDatabase) {
    this.#database = database
    this.#statements = prepareStatements(database)
    this.#entries = new SqliteEntries(database, this.#statements)
    this.#jobs = new SqliteJobRows(database, this.#entries)
    this.#rare = new RareStatements(database)
  }

  /** Never throws: the report has the error. */
  run(operations: readonly StoreOperation[]): BatchReport {
    try {
      return this.#runTogether(operations)
    } catch (error) {
      this.#abandon()
      if (isStoreFailure(error)) return failedReport(error)
    }
    // One of the operations is invalid. Runs them again one by one, to find it and keep the rest.
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
    if (operations.length === 0) this.#probe()
    for (let index = 0; index < operations.length; index += 1) {
      const operation = operations[index]
      if (operation === undefined) continue
      const answer = this.#apply(operation)
      if (answer !== undefined) answers.push([index, answer])
    }
    this.#entries.writeSums()
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
        this.#entries.writeSums()
        if (answer !== undefined) answers.push([index, answer])
      } catch (error) {
        if (isStoreFailure(error)) throw error
        this.#entries.forgetSums()
        this.#statements.undo.run()
        const isRefusal = error instanceof AccountError || error instanceof NotOpenError
        const code = isRefusal ? error.code : 'operation_failed'
        refusals.push([index, code, error instanceof Error ? error.message : String(error)])
      }
      this.#statements.keep.run()
    }
    this.#statements.commit.run()
    return { answers, refusals }
  }

  /** Writes a value that is there already: an empty transaction would succeed on a full disk. */
  #probe(): void {
    const version = Number(this.#database.pragma('user_version', { simple: true }))
    this.#database.pragma(`user_version = ${version}`)
  }

  #abandon(): void {
    this.#entries.forgetSums()
    // After some failures SQLite has already rolled back.
    if (this.#database.inTransaction) this.#statements.rollback.run()
  }

  #apply(operation: StoreOperation): unknown {
    const statements = this.#statements
    switch (operation.kind) {
      case 'hold':
        statements.hold.run(operation)
        return undefined
      case 'grow':
        statements.grow.run(operation)
        return undefined
      case 'charge':
        this.#entries.charge(operation)
        return undefined
      case 'release':
        this.#entries.resolve(operation)
        return undefined
      case 'price':
        statements.price.run(operation)
        return undefined
      case 'object':
        statements.object.run(operation)
        return undefined
      case 'credit':
      case 'debit':
        return this.#entries.move(operation)
      case 'job':
        return this.#jobs.open(operation)
      case 'end-job':
        return this.#jobs.end(operation)
      // These two read what others of the batch change: key spending and accounts.
      case 'statements':
        this.#entries.writeSums()
        return this.#rare.run(operation.statements)
      case 'transaction':
        this.#entries.writeSums()
        return runTransaction(operation.steps, this.#rare, step => this.#entries.move(step))
    }
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
