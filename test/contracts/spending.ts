import type { Test } from 'tap'
import { budgetDay } from '../../lib/ledger/key-spending.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { accountWith, bothSums, chargeOf, roubles } from './store-under-test.ts'
import type { OpenStore, StoreUnderTest } from './store-under-test.ts'

/** Charges tokens at a rouble each. */
async function spend(
  store: StoreUnderTest,
  accountId: string,
  { keyId = 'key', model = 'm', input = 1 },
): Promise<string> {
  const exchangeId = newId()
  const hold = await store.ledger.placeHold({
    exchangeId,
    sequence: 0,
    accountId,
    keyId,
    ...bothSums(roubles(input)),
  })
  await store.ledger.charge(hold, chargeOf({ input }, { model }))
  return exchangeId
}

/** What every store knows of spending, without reading the charges. */
export async function spendingContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('spending is summed by day in Moscow and by model, over restarts', async t => {
    // One minute before midnight in Moscow.
    let now = Date.parse('2026-05-05T20:59:00Z')
    let store = await open(t, { clock: { now: () => now } })
    const account = await accountWith(store, 100)
    const other = await accountWith(store, 100)
    const day = budgetDay(now)
    await Promise.all([
      spend(store, account, { model: 'a', input: 3 }),
      spend(store, account, { model: 'a', input: 4 }),
      spend(store, account, { model: 'b b', input: 0 }),
      spend(store, other, { model: 'a', input: 9 }),
    ])
    now += 60_000
    await spend(store, account, { model: 'a', input: 5 })
    store = await store.restart()
    await spend(store, account, { model: 'a', input: 6 })

    const spending = [
      { day, model: 'a', charges: 2, spentMicros: roubles(7) },
      { day, model: 'b b', charges: 1, spentMicros: 0 },
      { day: day + 1, model: 'a', charges: 2, spentMicros: roubles(11) },
    ]
    t.strictSame(await store.reports.modelSpending(account, day), spending)
    t.strictSame(await store.reports.modelSpending(account, day + 1), spending.slice(2))
    t.strictSame(await store.reports.modelSpending('nobody', 0), [])
    t.strictSame(await store.verify(), [])
  })

  await t.test('the latest charges of an account come first, without those of others', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    await spend(store, await accountWith(store, 100), {})
    const ids: string[] = []
    for (const input of [1, 2, 3]) ids.unshift(await spend(store, account, { input }))

    const latest = await store.reports.latestCharges(account, 2)

    t.strictSame(
      latest.map(charge => charge.requestId),
      ids.slice(0, 2),
    )
    t.strictSame(
      latest.map(charge => charge.amount),
      ['3.000000', '2.000000'],
    )
  })

  await t.test('keys are listed with their last use and the rest of their budgets', async t => {
    let now = Date.parse('2026-05-05T12:00:00Z')
    const store = await open(t, { clock: { now: () => now } })
    const accountId = await accountWith(store, 100)
    const budgetMicros = roubles(20)
    const daily = await store.accounts.createKey({ accountId, budgetMicros, budgetPeriod: 'day' })
    const plain = await store.accounts.createKey({ accountId })
    now += 1
    const whole = await store.accounts.createKey({ accountId, budgetMicros })
    await spend(store, accountId, { keyId: daily.id, input: 2 })
    await spend(store, accountId, { keyId: whole.id, input: 3 })
    now += 86_400_000
    await store.ledger.placeHold({
      exchangeId: newId(),
      sequence: 0,
      accountId,
      keyId: daily.id,
      ...bothSums(roubles(5)),
    })
    // Written after the hold, which is then on disk too.
    await spend(store, accountId, { keyId: daily.id, input: 4 })
    await spend(store, accountId, { keyId: plain.id, input: 0 })

    const uses = await store.reports.keyUses(accountId, { isRevoked: false, limit: 10 })

    const useOf = (id: string): unknown => {
      const found = uses.find(use => use.key.id === id)
      return { lastUsedAt: found?.lastUsedAt, budget: found?.budget }
    }
    t.equal(uses[0]?.key.id, whole.id, 'the newest first')
    t.match(useOf(daily.id), {
      lastUsedAt: now,
      budget: { spentMicros: roubles(4), heldMicros: roubles(5), availableMicros: roubles(11) },
    })
    t.strictSame(useOf(plain.id), { lastUsedAt: now, budget: undefined }, 'a charge of zero is a use')
    t.match(useOf(whole.id), {
      lastUsedAt: now - 86_400_000,
      budget: { spentMicros: roubles(3), heldMicros: 0, availableMicros: roubles(17) },
    })
    t.strictSame(await store.reports.keyUses(accountId, { isRevoked: true, limit: 10 }), [])

    await store.accounts.revokeKey(plain.id)
    const revoked = await store.reports.keyUses(accountId, { isRevoked: true, limit: 10 })
    t.match(revoked, [{ key: { id: plain.id, revokedAt: now } }])
    t.equal((await store.reports.keyUses(accountId, { isRevoked: false, limit: 1 })).length, 1)
  })

  await t.test('a key is shown to its own account only', async t => {
    const store = await open(t)
    const account = await accountWith(store, 0)
    const { id } = await store.accounts.createKey({ accountId: account, name: 'mine' })

    t.match(await store.reports.key(account, id), { id, accountId: account, name: 'mine' })
    t.equal(await store.reports.key(await accountWith(store, 0), id), undefined)
    t.equal(await store.reports.key(account, 'nothing'), undefined)
  })

  await t.test('of many keys that are requested at once, an account gets as many as its limit', async t => {
    const store = await open(t)
    const accountId = await accountWith(store, 0)
    const make = (): Promise<{ id: string }> => store.accounts.createKey({ accountId, activeKeysMax: 3 })

    const made = await Promise.allSettled(Array.from({ length: 8 }, make))

    const keys = made.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
    const refusals = made.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
    t.equal(keys.length, 3)
    for (const refusal of refusals) t.match(refusal, { code: 'key_limit' })
    await store.accounts.revokeKey(keys[0]?.id ?? '')
    await t.resolves(make(), 'a revoked key frees a place')
    await t.rejects(make(), { code: 'key_limit' })
    await t.resolves(store.accounts.createKey({ accountId }), 'an operator may exceed the limit')
  })
}
