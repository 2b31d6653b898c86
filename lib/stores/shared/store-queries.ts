/** A value as a statement takes it. */
export type QueryValue = string | number | null

/** How both stores are read: SQL that both understand, with `?` for each value. */
export interface StoreQueries {
  all<Row extends object>(sql: string, values?: readonly QueryValue[]): Promise<readonly Row[]>
  /** Queries that may take minutes. Each sees one state of the store, and two of them may see different ones. */
  withoutHurry<T>(read: (queries: StoreQueries) => Promise<T>): Promise<T>
  close(): Promise<void>
}
