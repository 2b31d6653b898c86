import type { Test } from 'tap'
import type { Clock } from '../../lib/platform/clock.ts'
import type { ChargeRequest, HeldSums, Hold, Micros } from '../../lib/ledger/ledger.ts'
import type { ChargeReport, Reports } from '../../lib/ledger/reports.ts'
import { buildPrice } from '../../lib/money/pricing.ts'
import type { Meters } from '../../lib/money/usage.ts'
import { newId } from '../../lib/platform/new-id.ts'
import type { Store } from '../../lib/stores/store.ts'

/** A store under test. */
export interface StoreUnderTest extends Store {
  /** The violations that the store itself finds. */
  verify(): Promise<readonly string[]>
  /** An account's charges, oldest first. */
  charges(accountId: string): Promise<readonly ChargeReport[]>
  /** Closes it as a server does, and opens it again. */
  restart(): Promise<StoreUnderTest>
}

/** Creates a new, empty store, closed when its test ends. */
export type OpenStore = (t: Test, options?: { readonly clock?: Clock }) => Promise<StoreUnderTest>

/** Reads what is stored, even after the store is closed. */
export function reading(open: () => Promise<Reports>): Pick<StoreUnderTest, 'verify' | 'charges'> {
  const read = async <T>(use: (reports: Reports) => Promise<T>): Promise<T> => {
    const reports = await open()
    try {
      return await use(reports)
    } finally {
      await reports.close()
    }
  }
  return {
    verify: () => read(reports => reports.verify()),
    charges: accountId => read(reports => Array.fromAsync(reports.charges(accountId))),
  }
}

/** One rouble per input token, ten per output token. */
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

/** An account with this many roubles. */
export async function accountWith(store: StoreUnderTest, amount: number): Promise<string> {
  const { id } = await store.accounts.createAccount({ email: `${newId()}@example.com` })
  if (amount > 0) {
    await store.accounts.credit({ accountId: id, amountMicros: roubles(amount), reason: 'test' })
  }
  return id
}

/** A hold whose cost is known in advance: the likely cost is the worst. */
export function bothSums(micros: Micros): HeldSums {
  return { likelyMicros: micros, worstMicros: micros }
}

export async function holdOf(store: Pick<Store, 'ledger'>, accountId: string, amount: number): Promise<Hold> {
  return await store.ledger.placeHold({
    exchangeId: newId(),
    sequence: 0,
    accountId,
    keyId: 'key',
    ...bothSums(roubles(amount)),
  })
}
