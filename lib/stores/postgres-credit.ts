import { AccountError } from '../accounts/accounts.ts'
import type { Micros } from '../ledger/ledger.ts'
import type { PostgresQueries } from './postgres-connection.ts'

interface Credit {
  readonly id: string
  readonly accountId: string
  readonly amountMicros: Micros
  readonly reason: string
  readonly at: number
}

/**
 * Books money in, within a transaction; answers the balance. The same credit again changes nothing.
 * @throws AccountError account_not_found, idempotency_conflict
 */
export async function bookCredit(
  queries: PostgresQueries,
  { id, accountId, amountMicros, reason, at }: Credit,
): Promise<Micros> {
  await lockCustomer(queries, accountId)
  const { rowCount } = await queries.query(
    `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at, reason)
     VALUES ($1, 0, 'credit', $2, $3, $4, $5), ($1, 0, 'cash', 'house:cash', -$3::bigint, $4, $5)
     ON CONFLICT DO NOTHING`,
    [id, accountId, amountMicros, at, reason],
  )
  if (rowCount === 0) await checkSameCredit(queries, id, accountId, amountMicros)
  const { rows } = await queries.query<{ balance_micros: number }>(
    'UPDATE accounts SET balance_micros = balance_micros + $2 WHERE id = $1 RETURNING balance_micros',
    [accountId, rowCount === 0 ? 0 : amountMicros],
  )
  return rows[0]?.balance_micros ?? 0
}

/** @throws AccountError account_not_found */
export async function lockCustomer(queries: PostgresQueries, accountId: string): Promise<void> {
  const { rowCount } = await queries.query(
    `SELECT 1 FROM accounts WHERE id = $1 AND kind = 'customer' FOR NO KEY UPDATE`,
    [accountId],
  )
  if (rowCount === 0) throw new AccountError('account_not_found', `there is no account ${accountId}`)
}

/** @throws AccountError idempotency_conflict */
async function checkSameCredit(
  queries: PostgresQueries,
  entryId: string,
  accountId: string,
  amountMicros: Micros,
): Promise<void> {
  const { rowCount } = await queries.query(
    `SELECT 1 FROM entries WHERE exchange_id = $1 AND kind = 'credit' AND account_id = $2 AND amount_micros = $3`,
    [entryId, accountId, amountMicros],
  )
  if (rowCount === 0) {
    throw new AccountError('idempotency_conflict', 'another credit was booked under this idempotency key')
  }
}
