import type { Accounts, KeyDirectory } from '../../lib/accounts/accounts.ts'
import type { ChargeRequest, Hold, Ledger } from '../../lib/ledger/ledger.ts'
import { buildPrice } from '../../lib/money/build-price.ts'
import type { Meters } from '../../lib/money/usage.ts'
import { newId } from '../../lib/new-id.ts'

/** A store under test, seen through the interfaces that every store has. */
export interface StoreUnderTest {
  readonly ledger: Ledger
  readonly accounts: Accounts
  readonly keys: KeyDirectory
  /** What the store says of itself when it is asked for breaches. */
  verify(): readonly string[]
  /** Flags and amounts of an account's charges, oldest first. */
  charges(accountId: string): readonly { readonly amount: string; readonly flags: readonly string[] }[]
  /** Ends it as a server ends, and starts it again. */
  restart(): Promise<StoreUnderTest>
}

/** One rouble for a token in, ten for a token out. */
export const testPrice = buildPrice({ model: 'm', rubPerMillion: { input: '1000000', output: '10000000' } })

export const roubles = (amount: number): number => amount * 1_000_000

export function chargeOf(meters: Meters, more: Partial<ChargeRequest> = {}): ChargeRequest {
  return {
    provider: 'openai',
    model: 'm',
    dialect: 'openai',
    operation: 'chat',
    outcome: 'completed',
    usageSource: 'provider',
    lines: [{ usage: { meters }, price: testPrice }],
    flags: [],
    ...more,
  }
}

/** An account with so many roubles. */
export async function accountWith(store: StoreUnderTest, amount: number): Promise<string> {
  const { id } = await store.accounts.createAccount({ email: `${newId()}@example.com` })
  if (amount > 0) {
    await store.accounts.credit({ accountId: id, amountMicros: roubles(amount), reason: 'test' })
  }
  return id
}

export function holdOf(store: StoreUnderTest, accountId: string, amount: number): Promise<Hold> {
  return store.ledger.placeHold({
    exchangeId: newId(),
    sequence: 0,
    accountId,
    keyId: 'key',
    amountMicros: roubles(amount),
  })
}
