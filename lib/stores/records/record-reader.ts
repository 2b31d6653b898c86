import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import type { Compilable } from 'kysely'
import type { StoreQueries } from '../shared/store-queries.ts'
import { recordValues, type RecordReader, type RecordTables } from './records.ts'

/** Kysely only builds queries here. One that it executed itself would bypass the store's one writer. */
class NoDriver extends DummyDriver {
  override async acquireConnection(): Promise<never> {
    throw new TypeError('queries are run by `all` and `write` of the records')
  }
}

/** Builds queries in the SQL of a database. */
function queryBuilder(kind: StoreQueries['kind']): Kysely<RecordTables> {
  const isSqlite = kind === 'sqlite'
  return new Kysely<RecordTables>({
    dialect: {
      createAdapter: () => (isSqlite ? new SqliteAdapter() : new PostgresAdapter()),
      createDriver: () => new NoDriver(),
      createIntrospector: database =>
        isSqlite ? new SqliteIntrospector(database) : new PostgresIntrospector(database),
      createQueryCompiler: () => (isSqlite ? new SqliteQueryCompiler() : new PostgresQueryCompiler()),
    },
  })
}

/** Reads business rows of a store of either kind. */
export function recordReader(queries: StoreQueries): RecordReader {
  return {
    build: queryBuilder(queries.kind),
    sql,
    async all<Row>(query: Compilable<Row>) {
      const { sql, parameters } = query.compile()
      const rows: readonly object[] = await queries.all(sql, recordValues(parameters))
      return rows as readonly Row[]
    },
  }
}
