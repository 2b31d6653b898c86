import type { QueryValue, StoreQueries } from './store-queries.ts'

/** Charges are read this many at a time, so that nothing else waits long for the thread. */
const pageRows = 500

/** What rows must be like, beside other conditions: each with ` AND ` before it. */
export interface Conditions {
  readonly sql: string
  readonly values: readonly QueryValue[]
}

/** Conditions of one value each; those without a value are left out. */
export function conditions(pairs: readonly (readonly [string, QueryValue | undefined])[]): Conditions {
  const used = pairs.filter(([, value]) => value !== undefined)
  return {
    sql: used.map(([condition]) => ` AND ${condition}`).join(''),
    values: used.map(([, value]) => value ?? null),
  }
}

/** Charges after an id, the oldest first, page by page. */
export async function* chargesById<Row extends { readonly id: number }>(
  queries: StoreQueries,
  columns: string,
  { sql, values }: Conditions,
  afterId = 0,
): AsyncGenerator<readonly Row[], void, void> {
  const select = `SELECT ${columns} FROM charges WHERE revision = 0${sql} AND id > ? ORDER BY id LIMIT ?`
  for (let last: number | undefined = afterId; last !== undefined;) {
    const rows: readonly Row[] = await queries.all<Row>(select, [...values, last, pageRows])
    yield rows
    last = rows[pageRows - 1]?.id
  }
}
