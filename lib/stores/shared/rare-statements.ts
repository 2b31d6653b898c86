import type { SqliteDatabase, SqliteStatement } from '../sqlite/sqlite-database.ts'
import type { SqlStatement } from './user-tables.ts'

/** Runs statements as they are brought, prepared once each; there are a few dozen different ones. */
export class RareStatements {
  readonly #database: SqliteDatabase
  readonly #prepared = new Map<string, SqliteStatement>()

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  /** Answers the rows of the last one. */
  run(statements: readonly SqlStatement[]): readonly unknown[] {
    let rows: readonly unknown[] = []
    for (const statement of statements) rows = this.runOne(statement).rows
    return rows
  }

  /** Answers the rows that it returns, and how many rows it returned or changed. */
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
