import type { Test } from 'tap'
import type { KeyRecord } from '../../lib/accounts/accounts.ts'
import { keyDigest } from '../../lib/accounts/memory-key-directory.ts'
import { KeyBudgetExceededError } from '../../lib/ledger/ledger.ts'
import type { Hold } from '../../lib/ledger/ledger.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { accountWith, bothSums, chargeOf, roubles } from './store-under-test.ts'
import type { OpenStore, StoreUnderTest } from './store-under-test.ts'

async function keyWith(
  store: StoreUnderTest,
  accountId: string,
  budgetMicros: number,
  budgetPeriod: 'total' | 'day' = 'total',
): Promise<KeyRecord> {
  const { key } = await store.accounts.createKey({ accountId, budgetMicros, budgetPeriod })
  const found = store.keys.findByDigest(keyDigest(key))
  if (found === undefined) throw new Error('the key is not found')
  return found
}

async function holdBy(store: StoreUnderTest, key: KeyRecord, amount: number): Promise<Hold> {
  const { id, accountId, budgetMicros = 0, budgetPeriod: period = 'total' } = key
  return await store.ledger.placeHold({
    exchangeId: newId(),
    sequence: 0,
    accountId,
    keyId: id,
    ...bothSums(roubles(amount)),
    budget: { budgetMicros, period },
  })
}

/** The contract of budgets of keys, on every store. */
export async function budgetsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('of many holds at once, a key gets as many as its budget allows', async t => {
    const store = await open(t)
    const account = await accountWith(store, 1000)
    const key = await keyWith(store, account, roubles(5.5))
    const other = await keyWith(store, account, roubles(100))
    const results = await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) => holdBy(store, index % 3 === 0 ? other : key, 1)),
    )
    const refusals = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
    t.equal(refusals.length, 40 - 5)
    for (const reason of refusals) {
      if (!(reason instanceof KeyBudgetExceededError)) throw reason
      if (reason.likelyMicros !== roubles(1)) t.fail(reason.message)
      if (reason.budget.availableMicros !== roubles(0.5)) t.fail(reason.message)
    }
    t.equal((await store.ledger.balance(account)).heldMicros, roubles(25), 'a refused hold holds nothing')
  })

  await t.test('a budget counts spending and holds of its period, over restarts', async t => {
    let now = Date.parse('2026-05-05T20:00:00Z')
    const store = await open(t, { clock: { now: () => now } })
    const account = await accountWith(store, 100)
    const key = await keyWith(store, account, roubles(20), 'day')
    await store.ledger.charge(await holdBy(store, key, 5), chargeOf({ input: 3 }))
    await store.ledger.release(await holdBy(store, key, 5))
    const last = await holdBy(store, key, 7)
    await last.durable
    t.match(await store.reports.keyBudget(key), {
      budgetMicros: roubles(20),
      spentMicros: roubles(3),
      heldMicros: roubles(7),
      availableMicros: roubles(10),
      resetsAt: Date.parse('2026-05-05T21:00:00Z'),
    })
    await t.rejects(holdBy(store, key, 10.000001), KeyBudgetExceededError)
    await store.ledger.release(last)
    const again = await store.restart()
    t.match(await again.reports.keyBudget(key), { spentMicros: roubles(3), heldMicros: 0 })
    await t.rejects(holdBy(again, key, 17.000001), KeyBudgetExceededError)
    // Midnight in Moscow.
    now += 3_600_000
    t.match(await again.reports.keyBudget(key), { spentMicros: 0, availableMicros: roubles(20) })
    await again.ledger.release(await holdBy(again, key, 20))
    t.strictSame(await again.verify(), [])
  })

  await t.test('the likely cost of a hold grows within its worst case and the budget', async t => {
    const store = await open(t)
    const key = await keyWith(store, await accountWith(store, 100), roubles(20))
    const { id, accountId, budgetMicros = 0 } = key
    const hold = await store.ledger.placeHold({
      exchangeId: newId(),
      sequence: 0,
      accountId,
      keyId: id,
      likelyMicros: roubles(5),
      worstMicros: roubles(12),
      strictMicros: roubles(12),
      budget: { budgetMicros, period: 'total' },
    })
    // It costs more than its hold.
    await store.ledger.charge(await holdBy(store, key, 2), chargeOf({ input: 10 }))
    await store.ledger.growHold(hold, { likelyMicros: roubles(12), worstMicros: roubles(12) })
    t.match(hold, { likelyMicros: roubles(10), worstMicros: roubles(12) })
    await t.rejects(holdBy(store, key, 0.000001), KeyBudgetExceededError, 'the budget is used up')
    t.strictSame(await store.verify(), [])
  })
}
