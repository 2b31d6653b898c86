import type { Test } from 'tap'
import { BalanceInsufficientError, HoldResolvedError } from '../../lib/ledger/ledger.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { accountWith, bothSums, chargeOf, holdOf, roubles } from './store-under-test.ts'
import type { OpenStore } from './store-under-test.ts'

/** The contract of holds, on every store. */
export async function holdsContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('a hold sets money aside and a release frees it', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const hold = await holdOf(store, account, 30)
    await hold.durable
    t.equal(hold.isDurable, true)
    t.match(await store.ledger.balance(account), {
      balanceMicros: roubles(100),
      heldMicros: roubles(30),
      availableMicros: roubles(70),
    })
    await store.ledger.release(hold)
    t.equal((await store.ledger.balance(account)).availableMicros, roubles(100))
  })

  await t.test('of 500 holds at once, money for 7 admits exactly 7', async t => {
    const store = await open(t)
    const account = await accountWith(store, 7.5)
    const results = await Promise.allSettled(Array.from({ length: 500 }, () => holdOf(store, account, 1)))
    const refusals = results.filter(result => result.status === 'rejected')
    t.equal(results.length - refusals.length, 7)
    for (const { reason } of refusals) {
      if (!(reason instanceof BalanceInsufficientError)) throw reason
      if (reason.likelyMicros !== roubles(1) || reason.balance.availableMicros !== roubles(0.5))
        t.fail(reason.message)
    }
  })

  await t.test('a hold of zero is admitted on an empty account', async t => {
    const store = await open(t)
    const account = await accountWith(store, 0)
    await (
      await holdOf(store, account, 0)
    ).durable
    await t.rejects(holdOf(store, account, 0.000001), BalanceInsufficientError)
  })

  await t.test('a hold of an invalid amount, or of an unknown account, is refused', async t => {
    const store = await open(t)
    const account = await accountWith(store, 1)
    for (const amount of [-0.000001, NaN, Infinity, 0.0000001]) {
      await t.rejects(holdOf(store, account, amount), RangeError, `${amount}`)
    }
    await t.rejects(holdOf(store, 'nobody', 0), { code: 'account_not_found' })
  })

  await t.test('a hold is resolved once', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const charged = await holdOf(store, account, 10)
    await store.ledger.charge(charged, chargeOf({ input: 3 }))
    await t.rejects(store.ledger.charge(charged, chargeOf({ input: 3 })), HoldResolvedError)
    await t.rejects(store.ledger.release(charged), HoldResolvedError)
    const released = await holdOf(store, account, 10)
    await store.ledger.release(released)
    await t.rejects(store.ledger.charge(released, chargeOf({ input: 3 })), HoldResolvedError)
    await t.rejects(store.ledger.release(released), HoldResolvedError)
    t.match(await store.ledger.balance(account), {
      balanceMicros: roubles(97),
      heldMicros: 0,
      availableMicros: roubles(97),
    })
  })

  await t.test('the turns of one exchange have separate holds and charges', async t => {
    const store = await open(t)
    const account = await accountWith(store, 10)
    const exchangeId = newId()
    for (const sequence of [0, 1, 2]) {
      const request = { exchangeId, sequence, accountId: account, keyId: 'key', ...bothSums(roubles(1)) }
      await store.ledger.charge(await store.ledger.placeHold(request), chargeOf({ input: 1 }))
    }
    t.equal((await store.ledger.balance(account)).balanceMicros, roubles(7))
    t.equal((await store.charges(account)).length, 3)
  })

  await t.test('a second hold of the same exchange and sequence fails and sets nothing aside', async t => {
    const store = await open(t)
    const account = await accountWith(store, 10)
    const request = {
      exchangeId: newId(),
      sequence: 0,
      accountId: account,
      keyId: 'key',
      ...bothSums(roubles(1)),
    }
    const first = await store.ledger.placeHold(request)
    await first.durable
    const second = async (): Promise<void> => (await store.ledger.placeHold(request)).durable
    await t.rejects(second())
    t.equal((await store.ledger.balance(account)).heldMicros, roubles(1))
    await store.ledger.charge(first, chargeOf({ input: 1 }))
    t.strictSame(await store.verify(), [])
  })
}
