import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'

/** A condition that a column has a text somewhere; `%` and `_` stand for themselves. */
export function contains(column: string, text: string): RawBuilder<boolean> {
  const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
  return sql<boolean>`${sql.ref(column)} LIKE ${pattern} ESCAPE '\\'`
}
