import { StoreError } from './store-queries.ts'

/** Statements that run together or not at all, and the schema's version after them. */
export interface SchemaStep {
  readonly version: number
  readonly sql: string
}

/** The tables of one kind of database, and the steps that upgrade older ones. */
export interface StoreSchema {
  /** Everything that a new store begins with. It never changes: later changes are steps. */
  readonly baseline: SchemaStep
  /** By version. Steps up to the baseline's own version are for stores that were created without the baseline. */
  readonly steps: readonly SchemaStep[]
}

/** The version to which a program upgrades every store. */
export function newestVersion({ baseline, steps }: StoreSchema): number {
  return Math.max(baseline.version, steps.at(-1)?.version ?? 0)
}

/**
 * The steps that a store still lacks.
 * @param version of the store; 0 when it has no tables yet
 * @param store its name for messages
 * @throws StoreError when a newer program wrote it, or it is too old
 */
export function missingSteps(schema: StoreSchema, version: number, store: string): readonly SchemaStep[] {
  const { baseline, steps } = schema
  const newest = newestVersion(schema)
  if (version > newest) {
    throw new StoreError(
      `${store} has schema version ${version} and this program knows versions up to ${newest}: ` +
        'run the newer release of the gateway, or restore an older backup',
    )
  }
  if (version === 0) return [baseline, ...steps.filter(step => step.version > baseline.version)]
  const oldest = (steps[0] ?? baseline).version - 1
  if (version < oldest) {
    throw new StoreError(
      `${store} has schema version ${version}, and this program brings stores up to date from version ${oldest}: ` +
        `start a build that knows version ${oldest} once, then this one`,
    )
  }
  return steps.filter(step => step.version > version)
}

/** Columns of the first builds that were never used. */
export const withoutUnusedColumns = `
ALTER TABLE accounts DROP COLUMN parent_account_id;
ALTER TABLE accounts DROP COLUMN price_list;
`

/** A trigger that refuses to change rows. */
interface Refusal {
  readonly name: string
  readonly table: string
  /** `UPDATE`, `UPDATE OF column` or `DELETE`; on PostgreSQL `DELETE` includes TRUNCATE. */
  readonly when: string
  readonly message: string
}

/** The SQL of table definitions in which the two databases differ. */
export interface TableWords {
  readonly kind: 'sqlite' | 'postgres'
  /** A reference to the account, for tables that every exchange writes. */
  readonly ofAccount: Columns
  /** Options of a table whose rows change often. */
  readonly hotOptions: string
  /** The same for large rows, and for rows that the database numbers. */
  readonly largeOptions: string
  /** Creates one of the described tables, from its columns and its table constraints. */
  readonly table: <Name extends string>(
    tables: Readonly<Record<Name, Columns>>,
    name: Name,
    rules?: readonly string[],
    options?: string,
  ) => string
  readonly refuse: (refusal: Refusal) => string
  /** Refuses every change of a written row. */
  readonly appendOnly: (table: string, message?: string) => string
}

function refuseOnSqlite({ name, table, when, message }: Refusal): string {
  return `CREATE TRIGGER ${name} BEFORE ${when} ON ${table}
BEGIN SELECT RAISE(ABORT, '${message}'); END;`
}

function refuseOnPostgres({ name, table, when, message }: Refusal): string {
  return `CREATE TRIGGER ${name} BEFORE ${when.replace('DELETE', 'DELETE OR TRUNCATE')} ON ${table}
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('${message}');`
}

function createTable(name: string, columns: Columns, rules: readonly string[], options: string): string {
  const lines = [...Object.entries(columns).map(([column, sql]) => `${column} ${sql}`), ...rules]
  return `CREATE TABLE ${name} (\n  ${lines.join(',\n  ')}\n)${options};`
}

const sqliteOptions = ' STRICT, WITHOUT ROWID'

/** For SQLite. */
export const sqliteWords: TableWords = {
  kind: 'sqlite',
  ofAccount: { account_id: 'TEXT NOT NULL REFERENCES accounts (id)' },
  hotOptions: sqliteOptions,
  largeOptions: ' STRICT',
  table: (tables, name, rules = [], options = sqliteOptions) =>
    createTable(name, tables[name], rules, options)
      .replaceAll(' BIGINT', ' INTEGER')
      .replace(' GENERATED ALWAYS AS IDENTITY', ''),
  refuse: refuseOnSqlite,
  appendOnly: (table, message = `${table} are append-only`) =>
    [
      refuseOnSqlite({ name: `${table}_stay_as_they_are`, table, when: 'UPDATE', message }),
      refuseOnSqlite({ name: `${table}_stay`, table, when: 'DELETE', message }),
    ].join('\n'),
}

/**
 * For PostgreSQL. Holds, charges and entries have no foreign key to accounts: their account's row is locked when they
 * are written, and for the house's accounts the check of a key would make all nodes lock the same rows.
 */
export const postgresWords: TableWords = {
  kind: 'postgres',
  ofAccount: {},
  hotOptions: ' WITH (fillfactor = 50)',
  largeOptions: '',
  table: (tables, name, rules = [], options = '') => createTable(name, tables[name], rules, options),
  refuse: refuseOnPostgres,
  appendOnly: (table, message = `${table} are append-only`) =>
    refuseOnPostgres({ name: `${table}_stay`, table, when: 'UPDATE OR DELETE', message }),
}

/** Columns of a table by name, in PostgreSQL's syntax: `BIGINT NOT NULL`. */
export type Columns = Readonly<Record<string, string>>

declare const held: unique symbol

/** Gives a column a type that its SQL does not show: `'TEXT' as SqlOf<'bank_card' | 'sbp' | null>`. */
export type SqlOf<Value> = string & { readonly [held]: Value }

type Listed<List> = List extends `'${infer One}', ${infer More}`
  ? One | Listed<More>
  : List extends `'${infer One}'`
    ? One
    : never

/** One of the values that a CHECK lists, or else text or a number; null where the SQL allows it. */
type ValueOf<Sql> =
  Sql extends SqlOf<infer Value>
    ? Value
    : | (Sql extends `${string} IN (${infer List})${string}`
          ? Listed<List>
          : Sql extends `TEXT${string}`
            ? string
            : number)
      | (Sql extends `${string}${'NOT NULL' | 'PRIMARY KEY'}${string}` ? never : null)

/** A row as queries return it, typed by the columns of its table. */
export type RowOf<Table extends Columns> = { readonly [Column in keyof Table]: ValueOf<Table[Column]> }
