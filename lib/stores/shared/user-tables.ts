import type { TableWords } from './store-schema.ts'
import type {
  RowChange,
  RowCondition,
  RowQuery,
  RowValue,
  UserRow,
  UserTable,
} from '../../accounts/user-rows.ts'

/**
 * What somebody signs in with, in the words of either store. The columns are those that better-auth knows, under its
 * names in lower case.
 */
function signInTables(owner: 'user' | 'operator', { integer, options }: TableWords): string {
  return `
CREATE TABLE ${owner}_sessions (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES ${owner}s (id),
  token TEXT NOT NULL UNIQUE,
  expires_at ${integer} NOT NULL,
  ip_address TEXT,
  user_agent TEXT,
  created_at ${integer} NOT NULL,
  updated_at ${integer} NOT NULL
)${options};
CREATE INDEX ${owner}_sessions_by_user ON ${owner}_sessions (user_id);
CREATE INDEX ${owner}_sessions_by_end ON ${owner}_sessions (expires_at);

CREATE TABLE ${owner}_passwords (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES ${owner}s (id),
  account_id TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  password TEXT,
  created_at ${integer} NOT NULL,
  updated_at ${integer} NOT NULL,
  UNIQUE (user_id, provider_id)
)${options};

CREATE TABLE ${owner}_verifications (
  id TEXT PRIMARY KEY,
  identifier TEXT NOT NULL,
  value TEXT NOT NULL,
  expires_at ${integer} NOT NULL,
  created_at ${integer} NOT NULL,
  updated_at ${integer} NOT NULL
)${options};
CREATE INDEX ${owner}_verifications_by_identifier ON ${owner}_verifications (identifier);
CREATE INDEX ${owner}_verifications_by_end ON ${owner}_verifications (expires_at);

CREATE TABLE ${owner}_two_factors (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL UNIQUE REFERENCES ${owner}s (id),
  secret TEXT NOT NULL,
  backup_codes TEXT NOT NULL,
  verified ${integer} NOT NULL DEFAULT 0,
  failed_verification_count ${integer} NOT NULL DEFAULT 0,
  locked_until ${integer}
)${options};
`
}

/** Who works in the operator's pages, and what they sign in with. */
function operatorTables(words: TableWords): string {
  const { integer, options } = words
  return `
CREATE TABLE operators (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  name TEXT,
  role TEXT NOT NULL CHECK (role IN ('owner', 'finance', 'support')),
  created_at ${integer} NOT NULL,
  email_verified ${integer} NOT NULL DEFAULT 0,
  image TEXT,
  updated_at ${integer},
  two_factor_enabled ${integer} NOT NULL DEFAULT 0,
  language TEXT
)${options};
${signInTables('operator', words)}`
}

/** What users agreed to, and what a store keeps for itself. */
function consentTables({ kind, integer, options, refuse }: TableWords): string {
  const message = 'consents are append-only'
  const fixed = refuse({
    name: 'user_consents_stay_as_they_are',
    table: 'user_consents',
    when: kind === 'sqlite' ? 'UPDATE' : 'UPDATE OR TRUNCATE',
    message,
  })
  return `
CREATE TABLE user_consents (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  kind TEXT NOT NULL CHECK (kind IN ('offer', 'personal-data')),
  version TEXT NOT NULL,
  language TEXT NOT NULL,
  address TEXT NOT NULL,
  at ${integer} NOT NULL
)${options};
CREATE INDEX user_consents_by_user ON user_consents (user_id);

CREATE TABLE secrets (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  created_at ${integer} NOT NULL
)${options};
${fixed}
${kind === 'sqlite' ? sqliteConsents : postgresConsents}
`
}

/** Who never confirmed the email is forgotten; all other consents stay. */
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

/** What users and operators sign in with, and what users agreed to. */
export function userTables(words: TableWords): string {
  return signInTables('user', words) + consentTables(words) + operatorTables(words)
}

/** A statement that both stores understand, with `?` for each value. */
export interface SqlStatement {
  readonly sql: string
  readonly values: readonly RowValue[]
}

const personColumns = [
  'id',
  'email',
  'name',
  'created_at',
  'email_verified',
  'image',
  'updated_at',
  'two_factor_enabled',
  'language',
]

const signInColumns = {
  sessions: ['id', 'user_id', 'token', 'expires_at', 'ip_address', 'user_agent', 'created_at', 'updated_at'],
  passwords: ['id', 'user_id', 'account_id', 'provider_id', 'password', 'created_at', 'updated_at'],
  verifications: ['id', 'identifier', 'value', 'expires_at', 'created_at', 'updated_at'],
  twoFactors: [
    'id',
    'user_id',
    'secret',
    'backup_codes',
    'verified',
    'failed_verification_count',
    'locked_until',
  ],
}

const columnsOf: Readonly<Record<UserTable, readonly string[]>> = {
  users: personColumns,
  user_sessions: signInColumns.sessions,
  user_passwords: signInColumns.passwords,
  user_verifications: signInColumns.verifications,
  user_two_factors: signInColumns.twoFactors,
  operators: [...personColumns, 'role'],
  operator_sessions: signInColumns.sessions,
  operator_passwords: signInColumns.passwords,
  operator_verifications: signInColumns.verifications,
  operator_two_factors: signInColumns.twoFactors,
}

const operators: ReadonlySet<string> = new Set(['=', '<>', '<', '<=', '>', '>=', 'in', 'not in'])

// Names of tables and columns stand in the statements as they are, so only known ones may.
function checked(table: UserTable, column: string): string {
  if (!columnsOf[table].includes(column)) throw new TypeError(`${table} has no column ${column}`)
  return column
}

function condition(table: UserTable, { column, operator, value }: RowCondition, values: RowValue[]): string {
  checked(table, column)
  if (!operators.has(operator)) throw new TypeError(`${operator} is no operator`)
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
  let sql = `SELECT ${columnsOf[table].join(', ')} FROM ${table}${conditions(table, query.where ?? [], values)}`
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

/** Changes rows and answers them. */
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
    sql: `UPDATE ${table} SET ${changes.join(', ')}${condition} RETURNING ${columnsOf[table].join(', ')}`,
    values,
  }
}

/** Deletes rows and answers them. */
export function deleteRows(
  table: UserTable,
  where: readonly RowCondition[],
  limit: number | undefined,
): SqlStatement {
  const values: RowValue[] = []
  const condition = conditions(table, where, values)
  const which = limit === undefined ? condition : ` WHERE id IN (SELECT id FROM ${table}${condition} LIMIT ?)`
  if (limit !== undefined) values.push(limit)
  return { sql: `DELETE FROM ${table}${which} RETURNING ${columnsOf[table].join(', ')}`, values }
}
