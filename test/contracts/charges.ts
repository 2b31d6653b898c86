import type { Test } from 'tap'
import { accountWith, chargeOf, holdOf, roubles, testPrice } from './store-under-test.ts'
import type { OpenStore } from './store-under-test.ts'

/** The contract of charges, on every store. */
export async function chargesContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('a charge deducts the cost of the usage and releases the rest of the hold', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const result = await store.ledger.charge(
      await holdOf(store, account, 50),
      chargeOf({ input: 2, output: 1 }),
    )
    t.strictSame(result, { amountMicros: roubles(12), overrunMicros: 0, flags: [] })
    t.match(await store.ledger.balance(account), {
      balanceMicros: roubles(88),
      heldMicros: 0,
      availableMicros: roubles(88),
    })
    t.match(await store.charges(account), [{ amount: '12.000000', flags: [] }])
    t.strictSame(await store.verify(), [])
  })

  await t.test('a charge beyond its hold takes free money, and the account owes the rest', async t => {
    const store = await open(t)
    const account = await accountWith(store, 20)
    const other = await holdOf(store, account, 5)
    const beyond = await store.ledger.charge(await holdOf(store, account, 1), chargeOf({ input: 4 }))
    t.strictSame(beyond, { amountMicros: roubles(4), overrunMicros: 0, flags: [] })
    const overrun = await store.ledger.charge(await holdOf(store, account, 1), chargeOf({ output: 3 }))
    t.strictSame(
      overrun,
      { amountMicros: roubles(11), overrunMicros: roubles(19), flags: ['overrun'] },
      'not the money of the other hold',
    )
    t.match(await store.ledger.balance(account), {
      balanceMicros: roubles(5),
      debtMicros: roubles(19),
      heldMicros: roubles(5),
      availableMicros: -roubles(19),
    })
    await t.rejects(holdOf(store, account, 0.000001), {
      name: 'BalanceInsufficientError',
      balance: { debtMicros: roubles(19) },
    })
    const within = await store.ledger.charge(other, chargeOf({ input: 5 }))
    t.strictSame(
      within,
      { amountMicros: roubles(5), overrunMicros: 0, flags: [] },
      'the other hold keeps its own money',
    )
    const nothing = await store.ledger.charge(await holdOf(store, account, 0), chargeOf({ input: 1 }))
    t.strictSame(nothing, { amountMicros: 0, overrunMicros: roubles(1), flags: ['overrun'] })
    t.match(
      (await store.charges(account)).map(charge => charge.flags),
      [[], ['overrun'], [], ['overrun']],
    )
    t.strictSame(await store.verify(), [])
  })

  await t.test('money that arrives or becomes free pays debts first, at once', async t => {
    const store = await open(t)
    const account = await accountWith(store, 20)
    const [first, second] = [await holdOf(store, account, 8), await holdOf(store, account, 6)]
    await store.ledger.charge(await holdOf(store, account, 1), chargeOf({ input: 16 }))
    t.match(await store.ledger.balance(account), { balanceMicros: roubles(14), debtMicros: roubles(10) })

    await store.ledger.charge(first, chargeOf({ input: 5 }))
    t.match(await store.ledger.balance(account), { balanceMicros: roubles(6), debtMicros: roubles(7) })
    await store.accounts.credit({ accountId: account, amountMicros: roubles(4), reason: 'top-up' })
    t.match(await store.ledger.balance(account), { balanceMicros: roubles(6), debtMicros: roubles(3) })
    await store.ledger.release(second)

    const paid = { balanceMicros: roubles(3), debtMicros: 0, availableMicros: roubles(3) }
    t.match(await store.ledger.balance(account), paid)
    const again = await store.restart()
    t.match(await again.ledger.balance(account), paid)
    t.strictSame(await again.verify(), [])
  })

  await t.test('usage of zero is a charge of zero, with its row', async t => {
    const store = await open(t)
    const account = await accountWith(store, 5)
    await store.ledger.charge(await holdOf(store, account, 5), chargeOf({ input: 0, output: 0 }))
    t.match(await store.charges(account), [{ amount: '0.000000', flags: [] }])
    t.strictSame(await store.verify(), [])
  })

  await t.test('each line of a charge has its own price, and mistakes are flagged', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const result = await store.ledger.charge(
      await holdOf(store, account, 5),
      chargeOf(
        {},
        {
          flags: ['usage_inconsistent'],
          lines: [
            { usage: { model: 'm', meters: { input: 1, searches: 2 } }, price: testPrice },
            { usage: { model: 'n', meters: { output: 1, input: NaN }, tier: 'flex' }, price: testPrice },
          ],
        },
      ),
    )
    t.equal(result.amountMicros, roubles(11))
    t.strictSame((await store.charges(account))[0]?.flags, [
      'usage_inconsistent',
      'meter_unpriced',
      'tier_unpriced',
      'usage_invalid',
      'ambiguous',
    ])
    t.strictSame(await store.verify(), [])
  })

  await t.test('the charges of an exchange are found by its id, also after a restart', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    const [hold, other] = [await holdOf(store, account, 5), await holdOf(store, account, 5)]
    t.strictSame(await store.ledger.findUsage(hold.exchangeId), {}, 'there are none yet')
    const lines = [
      { usage: { meters: { input: 1, cachedInput: 4 } }, price: testPrice },
      { usage: { model: 'n', meters: { input: 2, output: 3 } }, price: testPrice },
    ]
    await store.ledger.charge(hold, chargeOf({}, { lines }))
    await store.ledger.charge(other, chargeOf({ output: 1 }))
    const used = { input: 3, cachedInput: 4, output: 3 }
    t.strictSame(await store.ledger.findUsage(hold.exchangeId), used)
    const again = await store.restart()
    t.strictSame(await again.ledger.findUsage(hold.exchangeId), used)
  })

  await t.test('holds and charges are the same after a restart', async t => {
    const store = await open(t)
    const account = await accountWith(store, 100)
    await store.ledger.charge(await holdOf(store, account, 50), chargeOf({ output: 1 }))
    await (
      await holdOf(store, account, 50)
    ).durable
    const again = await store.restart()
    t.match(
      await again.ledger.balance(account),
      { balanceMicros: roubles(90), heldMicros: 0, availableMicros: roubles(90) },
      'the hold that was still open is released',
    )
    t.strictSame(await again.verify(), [])
  })
}
