import type { RawBuilder, Sql } from 'kysely'
import type { RecordReader } from './records.ts'

/** Enough letters to distinguish nearly all rows; each of them costs a `replace` in every row. */
const roughLetters = 3

/**
 * A condition that a column contains a text, in either case; `%` and `_` are literal. SQLite's `lower` knows ASCII
 * only, and PostgreSQL's depends on the database's locale, so the other letters of the text are put into lower case one
 * by one, those of a long text only in rows that match its first ones.
 */
export function contains(sql: Sql, column: string, text: string): RawBuilder<boolean> {
  const folded = Array.from(text, inLowerCase)
  const letters = [...new Set(folded)].filter(hasCapitalBeyondAscii)
  const whole = matches(sql, column, folded, letters)
  if (letters.length <= roughLetters) return whole
  const open = new Set(letters.slice(roughLetters))
  const rough = folded.map(letter => (open.has(letter) ? undefined : letter))
  return sql<boolean>`(${matches(sql, column, rough, letters.slice(0, roughLetters))} AND ${whole})`
}

/** @param text in lower case; undefined: any letter */
function matches(
  sql: Sql,
  column: string,
  text: readonly (string | undefined)[],
  letters: readonly string[],
): RawBuilder<boolean> {
  const pattern = text.map(letter => letter?.replace(/[\\%_]/, '\\$&') ?? '_').join('')
  const value = letters.reduce(
    (within, letter) => sql<string>`replace(${within}, ${letter.toUpperCase()}, ${letter})`,
    sql<string>`lower(${sql.ref(column)})`,
  )
  return sql<boolean>`${value} LIKE ${`%${pattern}%`} ESCAPE '\\'`
}

function hasCapitalBeyondAscii(letter: string): boolean {
  const capital = letter.toUpperCase()
  return letter > '\u007F' && capital !== letter && inLowerCase(capital) === letter
}

/** A few letters become two in another case; they stay as they are. */
function inLowerCase(letter: string): string {
  const lower = letter.toLowerCase()
  return Array.from(lower).length === 1 ? lower : letter
}

/** An account that a search found. */
export interface FoundAccount {
  readonly id: string
  readonly email: string | null
  readonly name: string | null
  readonly balanceMicros: number
  readonly blockedAt: number | null
}

/** No value that can be searched for is longer. */
const searchLengthMax = 200
const foundMax = 100
/** The search reads at most this many companies whose details contain the text: typing more narrows it. */
const companiesMax = 1000

interface AccountSearch {
  /** What a customer quotes to support; empty: all accounts. */
  readonly text?: string
  readonly only?: 'blocked' | 'indebted' | undefined
  readonly sort?: 'created' | 'email' | 'balance'
  readonly isDescending?: boolean
  readonly limit: number
  readonly offset?: number
}

const columns = { created: 'created_at', email: 'email', balance: 'balance_micros' } as const

/**
 * Accounts whose company has, or had, a name that contains a text. Details hold more than the name, which is checked
 * here.
 */
async function findByCompany(records: RecordReader, text: string): Promise<readonly string[]> {
  const inJson = JSON.stringify(text).slice(1, -1)
  const rows = await records.all(
    records.build
      .selectFrom('companies')
      .select(['account_id', 'details'])
      .where(contains(records.sql, 'details', inJson))
      .limit(companiesMax),
  )
  const typed = text.toLowerCase()
  const found = rows.filter(({ details }) => companyName(details).toLowerCase().includes(typed))
  return found.map(one => one.account_id)
}

function companyName(details: string): string {
  const { name } = JSON.parse(details) as { readonly name?: unknown }
  return typeof name === 'string' ? name : ''
}

/**
 * Accounts by what customers quote to support: a part of the email, name, company's name or a member's email, the INN,
 * the id of the account or of a key, the last four characters of a key, or the id of a request.
 */
export async function searchAccounts(
  records: RecordReader,
  { text = '', only, sort = 'created', isDescending = false, limit, offset = 0 }: AccountSearch,
): Promise<readonly FoundAccount[]> {
  const { build, sql } = records
  const order = isDescending ? 'desc' : 'asc'
  let query = build
    .selectFrom('accounts')
    .select(['id', 'email', 'name', 'balance_micros as balanceMicros', 'blocked_at as blockedAt'])
    .where('kind', '=', 'customer')
    .orderBy(columns[sort], order)
    .orderBy('id', order)
    .limit(limit)
    .offset(offset)
  if (only === 'blocked') query = query.where('blocked_at', 'is not', null)
  if (only === 'indebted') query = query.where('debt_micros', '>', 0)
  if (text !== '') {
    const byCompany = await findByCompany(records, text)
    query = query.where(where =>
      where.or([
        where('id', '=', text),
        contains(sql, 'email', text),
        contains(sql, 'name', text),
        where('id', 'in', ['', ...byCompany]),
        where(
          'id',
          'in',
          where
            .selectFrom('memberships')
            .innerJoin('users', 'users.id', 'memberships.user_id')
            .select('memberships.account_id')
            .where(contains(sql, 'users.email', text)),
        ),
        where('id', 'in', where.selectFrom('keys').select('account_id').where('id', '=', text)),
        where('id', 'in', where.selectFrom('keys').select('account_id').where('last_four', '=', text)),
        where('id', 'in', where.selectFrom('companies').select('account_id').where('inn', '=', text)),
        where('id', 'in', where.selectFrom('holds').select('account_id').where('exchange_id', '=', text)),
      ]),
    )
  }
  return records.all(query)
}

/**
 * Accounts that a search finds, oldest first, at most 100.
 * @throws RangeError for an empty or an overlong text
 */
export async function findAccounts(records: RecordReader, typed: string): Promise<readonly FoundAccount[]> {
  const text = typed.trim()
  if (text === '' || text.length > searchLengthMax) {
    throw new RangeError(`a search takes 1 to ${searchLengthMax} characters`)
  }
  return searchAccounts(records, { text, limit: foundMax })
}

/** The ids of keys by id, last four characters, or a part of the name, with their accounts; at most 100. */
export function findKeys(
  records: RecordReader,
  text: string,
): Promise<readonly { readonly id: string; readonly account_id: string }[]> {
  return records.all(
    records.build
      .selectFrom('keys')
      .select(['id', 'account_id'])
      .where(where =>
        where.or([
          where('id', '=', text),
          where('last_four', '=', text),
          contains(records.sql, 'name', text),
        ]),
      )
      .orderBy('id')
      .limit(foundMax),
  )
}
