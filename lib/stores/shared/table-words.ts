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
  readonly integer: 'INTEGER' | 'BIGINT'
  /** A reference to the account, where a table is written with every exchange. */
  readonly ofAccount: string
  /** What ends the description of a table that is found by its key. */
  readonly options: string
  /** The same for rows that change again and again. */
  readonly hotOptions: string
  /** The same for large rows, and for those with numbers of the database's own. */
  readonly largeOptions: string
  refuse(refusal: Refusal): string
  /** Refuses every change of what was once written. */
  appendOnly(table: string, message?: string): string
}

function refuseOnSqlite({ name, table, when, message }: Refusal): string {
  return `CREATE TRIGGER ${name} BEFORE ${when} ON ${table}
BEGIN SELECT RAISE(ABORT, '${message}'); END;`
}

function refuseOnPostgres({ name, table, when, message }: Refusal): string {
  return `CREATE TRIGGER ${name} BEFORE ${when.replace('DELETE', 'DELETE OR TRUNCATE')} ON ${table}
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('${message}');`
}

/** As SQLite has it. */
export const sqliteWords: TableWords = {
  kind: 'sqlite',
  integer: 'INTEGER',
  ofAccount: ' REFERENCES accounts (id)',
  options: ' STRICT, WITHOUT ROWID',
  hotOptions: ' STRICT, WITHOUT ROWID',
  largeOptions: ' STRICT',
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
  integer: 'BIGINT',
  ofAccount: '',
  options: '',
  hotOptions: ' WITH (fillfactor = 50)',
  largeOptions: '',
  refuse: refuseOnPostgres,
  appendOnly: (table, message = `${table} are append-only`) =>
    refuseOnPostgres({ name: `${table}_stay`, table, when: 'UPDATE OR DELETE', message }),
}
