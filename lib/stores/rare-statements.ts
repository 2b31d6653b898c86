import type { SqliteDatabase, SqliteStatement } from './sqlite-database.ts'
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
    for (const { sql, values } of statements) {
      const statement = this.#prepare(sql)
      if (statement.reader) rows = statement.all(...values)
      else {
        statement.run(...values)
        rows = []
      }
    }
    return rows
  }

  #prepare(sql: string): SqliteStatement {
    let statement = this.#prepared.get(sql)
    if (statement === undefined) this.#prepared.set(sql, (statement = this.#database.prepare(sql)))
    return statement
  }
}
