import { StoreError } from './store-queries.ts'

/** Statements that are taken together or not at all, and the schema's version after them. */
export interface SchemaStep {
  readonly version: number
  readonly sql: string
}

/** The tables of one kind of database, and how older ones are brought up to date. */
export interface StoreSchema {
  /** Everything that a new store begins with. It stays as it is: what comes later are steps. */
  readonly baseline: SchemaStep
  /** By version; one that stands before the baseline's own, or at it, is for stores that were made without it. */
  readonly steps: readonly SchemaStep[]
}

/** The version that a program brings every store to. */
export function newestVersion({ baseline, steps }: StoreSchema): number {
  return Math.max(baseline.version, steps.at(-1)?.version ?? 0)
}

/**
 * What a store has yet to take.
 * @param version of the store; 0 where there are no tables yet
 * @param store as messages name it
 * @throws StoreError when it is of a newer program, or of one too old
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

/** Columns of the first builds that nothing has read or written. */
export const withoutUnusedColumns = `
ALTER TABLE accounts DROP COLUMN parent_account_id;
ALTER TABLE accounts DROP COLUMN price_list;
`

/** A trigger that refuses to change rows. */
interface Refusal {
  readonly name: string
  readonly table: string
  /** `UPDATE`, `UPDATE OF column` or `DELETE`; what deletes all rows at once is refused with `DELETE`. */
  readonly when: string
  readonly message: string
}

/** What the two databases say differently where a table is described. */
export interface TableWords {
  readonly kind: 'sqlite' | 'postgres'
  /** A reference to the account, where a table is written with every exchange. */
  readonly ofAccount: Columns
  /** What ends the description of a table whose rows change again and again. */
  readonly hotOptions: string
  /** The same for large rows, and for those with numbers of the database's own. */
  readonly largeOptions: string
  /** Creates one of described tables, by its columns and by rules that are of no single one. */
  readonly table: <Name extends string>(
    tables: Readonly<Record<Name, Columns>>,
    name: Name,
    rules?: readonly string[],
    options?: string,
  ) => string
  readonly refuse: (refusal: Refusal) => string
  /** Refuses every change of what was once written. */
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

/** As SQLite has it. */
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
 * As PostgreSQL has it. Holds, charges and entries have no foreign key to accounts: their account is locked when they are written, and for the
 * house's the check of a key would make all nodes lock the same rows.
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

/** Columns of a table by name, each as PostgreSQL says what it holds: `BIGINT NOT NULL`. */
export type Columns = Readonly<Record<string, string>>

declare const held: unique symbol

/** Says of a column what its SQL does not: `'TEXT' as SqlOf<'bank_card' | 'sbp' | null>`. */
export type SqlOf<Value> = string & { readonly [held]: Value }

type Listed<List> = List extends `'${infer One}', ${infer More}`
  ? One | Listed<More>
  : List extends `'${infer One}'`
    ? One
    : never

/** One of a list where the column is checked to be, or else text or a number; null where the SQL allows it. */
type ValueOf<Sql> =
  Sql extends SqlOf<infer Value>
    ? Value
    : | (Sql extends `${string} IN (${infer List})${string}`
          ? Listed<List>
          : Sql extends `TEXT${string}`
            ? string
            : number)
      | (Sql extends `${string}${'NOT NULL' | 'PRIMARY KEY'}${string}` ? never : null)

/** A row as it is read, by the columns of its table. */
export type RowOf<Table extends Columns> = { readonly [Column in keyof Table]: ValueOf<Table[Column]> }
