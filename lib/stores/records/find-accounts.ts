import { sql } from 'kysely'
import type { RecordReader } from './records.ts'

/** An account that a search found. */
export interface FoundAccount {
  readonly id: string
  readonly email: string | null
  readonly name: string | null
  readonly balanceMicros: number
  readonly blockedAt: number | null
}

/** More than this names nothing that can be searched for. */
const searchLengthMax = 200
const foundMax = 100

/**
 * Accounts by what customers write to support with: a part of the email or name, the INN, the id of the account or of a
 * key, the last four characters of a key, or the id of a request. The oldest first, at most 100.
 * @throws RangeError for an empty or an overlong text
 */
export async function findAccounts(records: RecordReader, typed: string): Promise<readonly FoundAccount[]> {
  const text = typed.trim()
  if (text === '' || text.length > searchLengthMax) {
    throw new RangeError(`a search takes 1 to ${searchLengthMax} characters`)
  }
  const { build } = records
  const part = (of: string): string => `%${of.replaceAll(/[\\%_]/g, '\\$&')}%`
  const query = build
    .selectFrom('accounts')
    .select(['id', 'email', 'name', 'balance_micros as balanceMicros', 'blocked_at as blockedAt'])
    .where('kind', '=', 'customer')
    .where(where =>
      where.or([
        where('id', '=', text),
        sql<boolean>`email LIKE ${part(text.toLowerCase())} ESCAPE '\\'`,
        sql<boolean>`name LIKE ${part(text)} ESCAPE '\\'`,
        where('id', 'in', where.selectFrom('keys').select('account_id').where('id', '=', text)),
        where('id', 'in', where.selectFrom('keys').select('account_id').where('last_four', '=', text)),
        where('id', 'in', where.selectFrom('companies').select('account_id').where('inn', '=', text)),
        where('id', 'in', where.selectFrom('holds').select('account_id').where('exchange_id', '=', text)),
      ]),
    )
    .orderBy('created_at')
    .orderBy('id')
    .limit(foundMax)
  return records.all(query)
}
