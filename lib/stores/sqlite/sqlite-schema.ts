import { errorCountTables } from '../records/error-count-table.ts'
import { invoicePartTables } from '../records/invoice-part-table.ts'
import { withoutUnusedColumns, sqliteWords, type StoreSchema } from '../shared/store-schema.ts'
import { baselineTables } from '../shared/store-tables.ts'

/** Marks a file as this program's store: "gtwy". */
export const applicationId = 0x67747779

const columns = {
  held: {},
  neverOverspent: [],
  accountOptions: sqliteWords.options,
  keyVersion: {},
  resolvedBy: {},
}

/**
 * The tables of a SQLite store. The version stands in `user_version`, which SQLite changes within the same transaction as
 * the tables: a step is taken whole or not at all, and a store of a newer program is known by one number before a table of
 * it is read. (Kysely's Migrator keeps its state in tables of its own and is asynchronous, which the writer thread, where
 * this runs, otherwise never is.)
 */
export const sqliteSchema: StoreSchema = {
  baseline: {
    version: 26,
    sql: `${baselineTables(sqliteWords, columns)}
CREATE INDEX holds_open ON holds (account_id) WHERE state = 'open';
`,
  },
  steps: [
    { version: 26, sql: withoutUnusedColumns },
    { version: 27, sql: errorCountTables(sqliteWords) },
    { version: 28, sql: invoicePartTables(sqliteWords) },
  ],
}
