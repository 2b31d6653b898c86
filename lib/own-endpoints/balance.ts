import { balanceAmounts } from '../ledger/balance-amounts.ts'
import type { OwnRequest } from './own-endpoint.ts'

/** The account's money in roubles: `{balance, debt, held, available, worst, risk, paid}`. */
export async function showBalance({ ledger, key }: OwnRequest): Promise<unknown> {
  return balanceAmounts(await ledger.balance(key.accountId))
}
