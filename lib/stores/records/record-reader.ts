import type { Compilable } from 'kysely'
import type { QueryValue, StoreQueries } from '../store-queries.ts'
import { queryBuilder } from './query-builder.ts'
import type { RecordReader } from './records.ts'

/** Reads business rows of a store of either kind. */
export function recordReader(kind: 'sqlite' | 'postgres', queries: Pick<StoreQueries, 'all'>): RecordReader {
  return {
    build: queryBuilder(kind),
    async all<Row>(query: Compilable<Row>) {
      const { sql, parameters } = query.compile()
      const rows: readonly object[] = await queries.all(sql, recordValues(parameters))
      return rows as readonly Row[]
    },
  }
}

/** The values of a query, which both databases must take: truth is 0 or 1, times are milliseconds. */
export function recordValues(values: readonly unknown[]): QueryValue[] {
  return values.map(value => {
    if (typeof value === 'string' || typeof value === 'number' || value === null) return value
    throw new TypeError(`a value of a query is a ${typeof value}; text, numbers and null are stored`)
  })
}
