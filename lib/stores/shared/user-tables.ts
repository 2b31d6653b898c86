import type {
  RowChange,
  RowCondition,
  RowQuery,
  RowValue,
  UserRow,
  UserTable,
} from '../../accounts/user-rows.ts'

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
