/** A value as a statement takes it. */
export type QueryValue = string | number | null

/** How both stores are read: SQL that both understand, with `?` for each value. */
export interface StoreQueries {
  all<Row extends object>(sql: string, values?: readonly QueryValue[]): Promise<readonly Row[]>
  /** Reads on one state of the store, whatever is written meanwhile. */
  snapshot<T>(read: (queries: StoreQueries) => Promise<T>): Promise<T>
  close(): Promise<void>
}
