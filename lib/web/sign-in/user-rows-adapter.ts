import { AsyncLocalStorage } from 'node:async_hooks'
import { createAdapterFactory, type CleanedWhere, type CustomAdapter } from 'better-auth/adapters'
import type {
  Consent,
  RowCondition,
  RowValue,
  UserRow,
  UserRows,
  UserTable,
} from '../../accounts/user-rows.ts'
import { asRead, noteRead, refuseOvertaken, requireAsRead } from './checked-password.ts'

/** Consents of the current sign-up, to be written in one transaction with the user. */
export const consentsOfSignUp = new AsyncLocalStorage<readonly Consent[]>()

const operators: Readonly<Record<string, RowCondition['operator']>> = {
  eq: '=',
  ne: '<>',
  lt: '<',
  lte: '<=',
  gt: '>',
  gte: '>=',
  in: 'in',
  not_in: 'not in',
}

/** `userId` is the column `user_id`. */
function columnOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

function fieldOf(column: string): string {
  return column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function rowOf(data: Readonly<Record<string, unknown>>): UserRow {
  const row: Record<string, RowValue> = {}
  for (const [field, value] of Object.entries(data)) {
    if (value !== undefined) row[columnOf(field)] = value as RowValue
  }
  return row
}

// The library expects its own type; at run time it is a row of the requested table.
function dataOf(row: UserRow | undefined): Record<string, RowValue> | null {
  if (row === undefined) return null
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [fieldOf(column), value]))
}

function conditionsOf(where: readonly CleanedWhere[] = []): readonly RowCondition[] {
  return where.map(({ field, operator, value, connector }) => {
    const known = operators[operator ?? 'eq']
    if (known === undefined) throw new TypeError(`users are not searched by ${operator}`)
    return {
      column: columnOf(field),
      operator: known,
      value: (Array.isArray(value) ? value : value instanceof Date ? value.getTime() : value) as RowValue,
      isOr: connector === 'OR',
    }
  })
}

/** Checks after the insert: a call that ends all sessions from then on also ends the new one. */
async function insertAsRead(users: UserRows, table: UserTable, row: UserRow): Promise<void> {
  await users.insert(table, row)
  try {
    await requireAsRead(users)
  } catch (error) {
    await users.delete(table, [{ column: 'id', operator: '=', value: row['id'] ?? null }])
    throw error
  }
}

function adapterOn(users: UserRows): CustomAdapter {
  const table = (model: string): UserTable => model as UserTable
  return {
    async create({ model, data }) {
      const row = rowOf(data)
      if (model === 'users') await users.createUser(row, consentsOfSignUp.getStore() ?? [])
      else await insertAsRead(users, table(model), row)
      return data
    },
    async findOne<T>({ model, where }: { model: string; where: CleanedWhere[] }) {
      const [row] = await users.find(table(model), { where: conditionsOf(where), limit: 1 })
      noteRead(table(model), row)
      return dataOf(row) as T | null
    },
    async findMany<T>({ model, where, limit, sortBy, offset }: Parameters<CustomAdapter['findMany']>[0]) {
      const rows = await users.find(table(model), {
        where: conditionsOf(where),
        limit,
        ...(offset !== undefined && { offset }),
        ...(sortBy !== undefined && {
          orderBy: { column: columnOf(sortBy.field), isDescending: sortBy.direction === 'desc' },
        }),
      })
      for (const row of rows) noteRead(table(model), row)
      return rows.map(row => dataOf(row) as T)
    },
    count: ({ model, where }) => users.count(table(model), conditionsOf(where)),
    async update<T>({ model, where, update }: { model: string; where: CleanedWhere[]; update: T }) {
      await requireAsRead(users)
      const set = rowOf(update as Record<string, unknown>)
      const read = asRead(table(model))
      const [row] = await users.update(table(model), [...conditionsOf(where), ...read], { set })
      if (row === undefined && read.length > 0) refuseOvertaken()
      noteRead(table(model), row)
      return dataOf(row) as T | null
    },
    async updateMany({ model, where, update }) {
      return (await users.update(table(model), conditionsOf(where), { set: rowOf(update) })).length
    },
    async delete({ model, where }) {
      await users.delete(table(model), conditionsOf(where))
    },
    async deleteMany({ model, where }) {
      return (await users.delete(table(model), conditionsOf(where))).length
    },
    async consumeOne<T>({ model, where }: { model: string; where: CleanedWhere[] }) {
      const [row] = await users.delete(table(model), conditionsOf(where), 1)
      return dataOf(row) as T | null
    },
    async incrementOne<T>({ model, where, increment, set = {} }: IncrementOne) {
      const add = Object.fromEntries(Object.entries(increment).map(([field, by]) => [columnOf(field), by]))
      const [row] = await users.update(table(model), conditionsOf(where), { set: rowOf(set), add })
      return dataOf(row) as T | null
    },
  }
}

type IncrementOne = Parameters<NonNullable<CustomAdapter['incrementOne']>>[0]

/**
 * Stores the data of better-auth through the gateway's store, on SQLite by its single writer. A user is created
 * together with an account. Times are numbers in the store and dates in the library.
 */
export function userRowsAdapter(users: UserRows) {
  return createAdapterFactory({
    config: {
      adapterId: 'gateway-store',
      supportsBooleans: false,
      supportsDates: true,
      transaction: false,
      customTransformInput: ({ data }) => (data instanceof Date ? data.getTime() : (data as unknown)),
      customTransformOutput: ({ data, fieldAttributes }) =>
        fieldAttributes.type === 'date' && typeof data === 'number' ? new Date(data) : (data as unknown),
    },
    adapter: () => adapterOn(users),
  })
}
