import type { RecordReader, Records } from './records.ts'
import type { RowOf, TableWords } from '../shared/store-schema.ts'

/** Columns of the tables below. */
export const errorCountColumns = {
  /** How often exchanges on all nodes failed with a code. */
  error_counts: {
    /** When the period of the count began; milliseconds since the epoch. */
    at: 'BIGINT NOT NULL',
    code: 'TEXT NOT NULL',
    count: 'BIGINT NOT NULL',
  },
} as const

/** How often exchanges failed with a code within a period. */
export type ErrorCount = RowOf<typeof errorCountColumns.error_counts>

/** A quarter of an hour: the days of every time zone begin with such a period. */
export const errorCountPeriodMs = 900_000
const keptMs = 8 * 86_400_000

/** The table of error counts. */
export function errorCountTables({ table }: TableWords): string {
  return `
${table(errorCountColumns, 'error_counts', ['PRIMARY KEY (at, code)'])}
`
}

/** Adds counts to the stored ones, and deletes those that are more than eight days older. */
export async function addErrorCounts(records: Records, counts: readonly ErrorCount[]): Promise<void> {
  const { build } = records
  const oldest = Math.max(...counts.map(({ at }) => at)) - keptMs
  // In the same order on every node, so that nodes do not deadlock.
  const ordered = counts.toSorted((one, other) => one.at - other.at || (one.code < other.code ? -1 : 1))
  await records.write([
    ...ordered.map(values => ({
      write: build
        .insertInto('error_counts')
        .values(values)
        .onConflict(conflict =>
          conflict
            .columns(['at', 'code'])
            .doUpdateSet(row => ({ count: row('error_counts.count', '+', row.ref('excluded.count')) })),
        ),
    })),
    { write: build.deleteFrom('error_counts').where('at', '<', oldest) },
  ])
}

/** Errors by code since a time, most frequent first. */
export async function readErrorCounts(
  records: RecordReader,
  from: number,
): Promise<readonly Omit<ErrorCount, 'at'>[]> {
  const rows = await records.all(
    records.build
      .selectFrom('error_counts')
      .select(row => ['code', row.fn.sum('count').as('total')])
      .where('at', '>=', from)
      .groupBy('code')
      .orderBy('total', 'desc')
      .orderBy('code'),
  )
  return rows.map(({ code, total }) => ({ code, count: Number(total) }))
}
