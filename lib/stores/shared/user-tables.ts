import { ledgerColumns } from './ledger-columns.ts'
import type { SqlStatement } from './store-queries.ts'
import type { Columns, TableWords } from './store-schema.ts'
import type {
  RowChange,
  RowCondition,
  RowQuery,
  RowValue,
  UserRow,
  UserTable,
} from '../../accounts/user-rows.ts'

/** Tables for sign-in. The columns are those that better-auth knows, with its names in snake case. */
function signInColumns(owner: 'user' | 'operator') {
  return {
    sessions: {
      id: 'TEXT PRIMARY KEY',
      user_id: `TEXT NOT NULL REFERENCES ${owner}s (id)`,
      token: 'TEXT NOT NULL UNIQUE',
      expires_at: 'BIGINT NOT NULL',
      ip_address: 'TEXT',
      user_agent: 'TEXT',
      created_at: 'BIGINT NOT NULL',
      updated_at: 'BIGINT NOT NULL',
    },
    passwords: {
      id: 'TEXT PRIMARY KEY',
      user_id: `TEXT NOT NULL REFERENCES ${owner}s (id)`,
      account_id: 'TEXT NOT NULL',
      provider_id: 'TEXT NOT NULL',
      password: 'TEXT',
      created_at: 'BIGINT NOT NULL',
      updated_at: 'BIGINT NOT NULL',
    },
    verifications: {
      id: 'TEXT PRIMARY KEY',
      identifier: 'TEXT NOT NULL',
      value: 'TEXT NOT NULL',
      expires_at: 'BIGINT NOT NULL',
      created_at: 'BIGINT NOT NULL',
      updated_at: 'BIGINT NOT NULL',
    },
    twoFactors: {
      id: 'TEXT PRIMARY KEY',
      user_id: `TEXT NOT NULL UNIQUE REFERENCES ${owner}s (id)`,
      secret: 'TEXT NOT NULL',
      backup_codes: 'TEXT NOT NULL',
      verified: 'BIGINT NOT NULL DEFAULT 0',
      failed_verification_count: 'BIGINT NOT NULL DEFAULT 0',
      locked_until: 'BIGINT',
    },
  } as const
}

const ofUsers = signInColumns('user')
const ofOperators = signInColumns('operator')

/** Columns of the tables that better-auth reads and writes. */
export const signInTables = {
  users: ledgerColumns.users,
  user_sessions: ofUsers.sessions,
  user_passwords: ofUsers.passwords,
  user_verifications: ofUsers.verifications,
  user_two_factors: ofUsers.twoFactors,
  /** People who work in the operators' pages. */
  operators: {
    id: 'TEXT PRIMARY KEY',
    email: 'TEXT NOT NULL UNIQUE',
    name: 'TEXT',
    /** What an operator may do: everything, money, or read only. */
    role: `TEXT NOT NULL CHECK (role IN ('owner', 'finance', 'support'))`,
    created_at: 'BIGINT NOT NULL',
    email_verified: 'BIGINT NOT NULL DEFAULT 0',
    image: 'TEXT',
    updated_at: 'BIGINT',
    two_factor_enabled: 'BIGINT NOT NULL DEFAULT 0',
    language: 'TEXT',
  },
  operator_sessions: ofOperators.sessions,
  operator_passwords: ofOperators.passwords,
  operator_verifications: ofOperators.verifications,
  operator_two_factors: ofOperators.twoFactors,
} as const satisfies Readonly<Record<UserTable, Columns>>

/** Columns of users' consents, and of the store's own secrets. */
export const consentColumns = {
  user_consents: {
    id: 'TEXT PRIMARY KEY',
    user_id: 'TEXT NOT NULL REFERENCES users (id)',
    kind: `TEXT NOT NULL CHECK (kind IN ('offer', 'personal-data'))`,
    version: 'TEXT NOT NULL',
    language: 'TEXT NOT NULL',
    address: 'TEXT NOT NULL',
    at: 'BIGINT NOT NULL',
  },
  secrets: {
    name: 'TEXT PRIMARY KEY',
    value: 'TEXT NOT NULL',
    created_at: 'BIGINT NOT NULL',
  },
} as const

function createSignIn(owner: 'user' | 'operator', { table }: TableWords): string {
  return `
${table(signInTables, `${owner}_sessions`)}
CREATE INDEX ${owner}_sessions_by_user ON ${owner}_sessions (user_id);
CREATE INDEX ${owner}_sessions_by_end ON ${owner}_sessions (expires_at);

${table(signInTables, `${owner}_passwords`, ['UNIQUE (user_id, provider_id)'])}

${table(signInTables, `${owner}_verifications`)}
CREATE INDEX ${owner}_verifications_by_identifier ON ${owner}_verifications (identifier);
CREATE INDEX ${owner}_verifications_by_end ON ${owner}_verifications (expires_at);

${table(signInTables, `${owner}_two_factors`)}
`
}

/** Users' consents, and the store's own secrets. */
function consentTables({ kind, table, refuse }: TableWords): string {
  const message = 'consents are append-only'
  const fixed = refuse({
    name: 'user_consents_stay_as_they_are',
    table: 'user_consents',
    when: kind === 'sqlite' ? 'UPDATE' : 'UPDATE OR TRUNCATE',
    message,
  })
  return `
${table(consentColumns, 'user_consents')}
CREATE INDEX user_consents_by_user ON user_consents (user_id);

${table(consentColumns, 'secrets')}
${fixed}
${kind === 'sqlite' ? sqliteConsents : postgresConsents}
`
}

/** Users who never confirmed their email are removed with their consents; all other consents stay. */
const isOfUnconfirmed = `EXISTS (SELECT 1 FROM users
  WHERE id = OLD.user_id AND email = 'unconfirmed-' || id || '@deleted.invalid')`

const sqliteConsents = `CREATE TRIGGER user_consents_stay BEFORE DELETE ON user_consents WHEN NOT ${isOfUnconfirmed}
BEGIN SELECT RAISE(ABORT, 'consents are append-only'); END;`
const postgresConsents = `CREATE FUNCTION refuse_to_forget_consents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF ${isOfUnconfirmed} THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'consents are append-only';
END $$;
CREATE TRIGGER user_consents_stay BEFORE DELETE ON user_consents
  FOR EACH ROW EXECUTE FUNCTION refuse_to_forget_consents();`

/** Tables for the sign-in of users and operators, and for users' consents. */
export function userTables(words: TableWords): string {
  const operators = `\n${words.table(signInTables, 'operators')}\n${createSignIn('operator', words)}`
  return createSignIn('user', words) + consentTables(words) + operators
}

/** The names of a table's columns, in the order of its rows. */
function columnsOf(table: UserTable): string {
  return Object.keys(signInTables[table]).join(', ')
}

const operators: ReadonlySet<string> = new Set(['=', '<>', '<', '<=', '>', '>=', 'in', 'not in'])

// Names of tables and columns are inserted into statements as text, so only known ones are allowed.
function checked(table: UserTable, column: string): string {
  if (!Object.hasOwn(signInTables[table], column)) throw new TypeError(`${table} has no column ${column}`)
  return column
}

function condition(table: UserTable, { column, operator, value }: RowCondition, values: RowValue[]): string {
  checked(table, column)
  if (!operators.has(operator)) throw new TypeError(`${operator} is not an operator`)
  if (typeof value === 'object' && value !== null) {
    if (value.length === 0) return operator === 'not in' ? '1 = 1' : '1 = 0'
    values.push(...value)
    return `${column} ${operator === 'not in' ? 'NOT IN' : 'IN'} (${value.map(() => '?').join(', ')})`
  }
  if (value === null) return `${column} IS ${operator === '<>' ? 'NOT ' : ''}NULL`
  values.push(value)
  return `${column} ${operator} ?`
}

function conditions(table: UserTable, where: readonly RowCondition[], values: RowValue[]): string {
  const all = where.filter(one => one.isOr !== true).map(one => condition(table, one, values))
  const any = where.filter(one => one.isOr === true).map(one => condition(table, one, values))
  if (any.length > 0) all.push(`(${any.join(' OR ')})`)
  return all.length === 0 ? '' : ` WHERE ${all.join(' AND ')}`
}

/** Reads rows. */
export function selectRows(table: UserTable, query: RowQuery): SqlStatement {
  const values: RowValue[] = []
  let sql = `SELECT ${columnsOf(table)} FROM ${table}${conditions(table, query.where ?? [], values)}`
  if (query.orderBy !== undefined) {
    sql += ` ORDER BY ${checked(table, query.orderBy.column)}${query.orderBy.isDescending ? ' DESC' : ''}`
  }
  if (query.limit !== undefined) {
    sql += ' LIMIT ? OFFSET ?'
    values.push(query.limit, query.offset ?? 0)
  }
  return { sql, values }
}

/** Counts rows, as `count`. */
export function countRows(table: UserTable, where: readonly RowCondition[]): SqlStatement {
  const values: RowValue[] = []
  const sql = `SELECT count(*) AS count FROM ${table}${conditions(table, where, values)}`
  return { sql, values }
}

/** Adds a row. */
export function insertRow(table: UserTable, row: UserRow): SqlStatement {
  const columns = Object.keys(row).map(column => checked(table, column))
  return {
    sql: `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    values: Object.values(row),
  }
}

/** Changes rows and returns them. */
export function updateRows(
  table: UserTable,
  where: readonly RowCondition[],
  { set = {}, add = {} }: RowChange,
): SqlStatement {
  const values: RowValue[] = []
  const changes: string[] = []
  for (const [column, value] of Object.entries(set)) {
    changes.push(`${checked(table, column)} = ?`)
    values.push(value)
  }
  for (const [column, value] of Object.entries(add)) {
    changes.push(`${checked(table, column)} = coalesce(${column}, 0) + ?`)
    values.push(value)
  }
  const condition = conditions(table, where, values)
  return {
    sql: `UPDATE ${table} SET ${changes.join(', ')}${condition} RETURNING ${columnsOf(table)}`,
    values,
  }
}

/** Deletes rows and returns them. */
export function deleteRows(
  table: UserTable,
  where: readonly RowCondition[],
  limit: number | undefined,
): SqlStatement {
  const values: RowValue[] = []
  const condition = conditions(table, where, values)
  const which = limit === undefined ? condition : ` WHERE id IN (SELECT id FROM ${table}${condition} LIMIT ?)`
  if (limit !== undefined) values.push(limit)
  return { sql: `DELETE FROM ${table}${which} RETURNING ${columnsOf(table)}`, values }
}
