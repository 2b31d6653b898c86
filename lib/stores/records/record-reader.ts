import type { Compilable } from 'kysely'
import type { StoreQueries } from '../shared/store-queries.ts'
import { queryBuilder } from './query-builder.ts'
import { recordValues } from './record-values.ts'
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
