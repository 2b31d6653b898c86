import { formatRoubles } from '../money/amount.ts'
import type { OwnRequest } from './own-endpoint.ts'

/** The account's money in roubles: `{balance, held, available}`. */
export async function showBalance({ ledger, key }: OwnRequest): Promise<unknown> {
  const { balanceMicros, heldMicros, availableMicros } = await ledger.balance(key.accountId)
  return {
    balance: formatRoubles(balanceMicros),
    held: formatRoubles(heldMicros),
    available: formatRoubles(availableMicros),
  }
}
