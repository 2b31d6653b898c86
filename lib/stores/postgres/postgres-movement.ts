import { AccountError } from '../../accounts/accounts.ts'
import { balanceOf, debitRefused } from '../../ledger/balance-book.ts'
import type { Micros } from '../../ledger/ledger.ts'
import type { RiskRule } from '../../ledger/risk.ts'
import type { PostgresQueries } from './postgres-connection.ts'
import { accountMoney, riskMembers } from './postgres-operation.ts'
import type { PostgresAnswer, PostgresOperation } from './postgres-operation.ts'
import type { MovementOperation } from '../shared/store-operation.ts'

/**
 * Books money in or out, within a transaction; answers the balance. The same movement again changes nothing.
 * @throws AccountError account_not_found, idempotency_conflict, and balance_insufficient when what is left would
 * not cover the open holds
 */
export async function bookMovement(
  queries: PostgresQueries,
  { kind, id, accountId, amountMicros, reason, at, source }: MovementOperation,
  rule: RiskRule,
): Promise<Micros> {
  const operation: PostgresOperation & { readonly i: number } = {
    i: 0,
    kind,
    account: accountId,
    exchange: id,
    amount: amountMicros,
    details: reason,
    at,
    source,
    ...riskMembers(rule),
  }
  const values = [JSON.stringify([operation])]
  const { rows } = await queries.query<PostgresAnswer>('SELECT * FROM apply_operations($1)', values)
  const [answer] = rows
  if (answer === undefined) throw new Error('the database did not answer a movement')
  switch (answer.ending) {
    case 'booked':
    case 'repeated':
      return balanceOf(accountMoney(answer), rule).balanceMicros
    case 'balance':
      throw debitRefused(amountMicros, balanceOf(accountMoney(answer), rule))
    case 'idempotency_conflict':
      throw new AccountError(answer.ending, `another ${kind} was booked under this idempotency key`)
    default:
      throw new AccountError('account_not_found', `there is no account ${accountId}`)
  }
}
