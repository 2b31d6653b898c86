import { setTimeout as delay } from 'node:timers/promises'
import type { Compilable, Generated, Insertable, Kysely, Sql } from 'kysely'
import type { Columns, RowOf } from '../shared/store-schema.ts'
import type { QueryValue } from '../shared/store-queries.ts'
import type { MovementOperation, TransactionStep } from '../shared/store-operation.ts'
import type { operatorColumns } from './operator-tables.ts'
import type { paymentColumns } from './payment-tables.ts'
import type { customerColumns } from './customer-tables.ts'
import type { documentColumns } from './document-tables.ts'
import type { errorCountColumns } from './error-count-table.ts'
import type { ledgerColumns } from '../shared/ledger-columns.ts'
import type { consentColumns, signInTables } from '../shared/user-tables.ts'

export type { Compilable }

/** The values of a query, which both databases must accept: booleans are 0 or 1, times are milliseconds. */
export function recordValues(values: readonly unknown[]): QueryValue[] {
  return values.map(value => {
    if (typeof value === 'string' || typeof value === 'number' || value === null) return value
    throw new TypeError(`a value of a query is a ${typeof value}; text, numbers and null are stored`)
  })
}

/** Money that comes in or goes out, as part of a transaction. Repeating a movement changes nothing. */
export type RecordMovement = Omit<MovementOperation, 'kind'>

/** One step of a transaction: a statement, or an operation of the ledger. */
export type RecordStep =
  | {
      readonly write: Compilable
      /** The transaction commits only if the statement changes, or returns, exactly this many rows. */
      readonly rows?: number
    }
  | { readonly credit: RecordMovement }
  /** Refused as `balance_insufficient` when the rest would not cover the open holds. */
  | { readonly debit: RecordMovement }

/** A step as a store receives it. */
export function stepMessage(step: RecordStep): TransactionStep {
  if ('credit' in step) return { kind: 'credit', ...step.credit }
  if ('debit' in step) return { kind: 'debit', ...step.debit }
  const { sql, parameters } = step.write.compile()
  return { kind: 'write', sql, values: recordValues(parameters), rows: step.rows ?? null }
}

/** Business rows as they are on disk. */
export interface RecordReader {
  /** Builds queries in the database's own SQL. They are run by `all` and `write`, not by the builder. */
  readonly build: Kysely<RecordTables>
  /**
   * For what the builder cannot express. It is part of the records, so that kysely is loaded only where they are
   * opened.
   */
  readonly sql: Sql
  all<Row>(query: Compilable<Row>): Promise<readonly Row[]>
}

/** Business rows: payments, documents, operators. Money moves in the same transaction as the row that says why. */
export interface Records extends RecordReader {
  /**
   * Runs steps as one transaction; resolves with the rows of each step when the transaction is on disk.
   * @throws RecordConflictError when a step found another number of rows, or a row that exists already
   * @throws AccountError when the ledger refuses a step
   * @throws LedgerUnavailableError when the store cannot be written; on PostgreSQL the transaction may be done then
   */
  write(steps: readonly RecordStep[]): Promise<readonly (readonly unknown[])[]>
}

/**
 * Nothing was written: a row was not as the transaction expected it. The caller should read it again and decide again.
 */
export class RecordConflictError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'RecordConflictError'
  }
}

/** Writes steps unless another writer was first; resolves with whether they were written. */
export async function tryWrite(
  records: { write(steps: readonly RecordStep[]): Promise<unknown> },
  steps: readonly RecordStep[],
): Promise<boolean> {
  try {
    await records.write(steps)
    return true
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    return false
  }
}

/**
 * Runs work again when another writer was first, after a random wait of up to `waitMsMax` milliseconds.
 * @throws RecordConflictError when the last attempt conflicts, too
 */
export async function retryConflicts<T>(
  attemptsMax: number,
  work: () => Promise<T>,
  waitMsMax = 0,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof RecordConflictError) || attempt === attemptsMax) throw error
    }
    if (waitMsMax > 0) await delay(Math.random() * waitMsMax)
  }
}

/** The number of parameters in one query that both databases accept with any settings. */
const parametersMax = 500

/** Rows by many values of a column, read in as many queries as necessary. */
export async function readAmong<Value, Row>(
  values: readonly Value[],
  read: (some: readonly Value[]) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const found: Row[] = []
  for (let begin = 0; begin < values.length; begin += parametersMax)
    found.push(...(await read(values.slice(begin, begin + parametersMax))))
  return found
}

/** The code by which the writing thread reports a `RecordConflictError`. */
export const recordConflict = 'record_conflict'

/** Says how many rows a step found, and how many it requires. */
export function rowsMessage(step: number, found: number, expected: number): string {
  return `step ${step} of the transaction found ${found} rows, not ${expected}`
}

type Described = typeof ledgerColumns &
  typeof signInTables &
  typeof consentColumns &
  typeof paymentColumns &
  typeof customerColumns &
  typeof documentColumns &
  typeof errorCountColumns &
  typeof operatorColumns

/** A column with a default may be left out. */
type TableOf<Table extends Columns> = {
  readonly [Column in keyof Table]: Table[Column] extends `${string} DEFAULT ${string}`
    ? Generated<RowOf<Table>[Column]>
    : RowOf<Table>[Column]
}

/** All tables of business rows, by name. A domain describes its own in a file of this folder. */
export type RecordTables = { readonly [Name in keyof Described]: TableOf<Described[Name]> }

/** A new row: columns that may be null or have a default can be left out. */
export type NewRow<Name extends keyof RecordTables> = Readonly<Insertable<RecordTables[Name]>>
