import type { Test } from 'tap'
import { budgetDay } from '../../lib/ledger/key-spending.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { accountWith, bothSums, chargeOf, roubles } from './store-under-test.ts'
import type { OpenStore } from './store-under-test.ts'

/** The contract of searching an account's charges, on every store. */
export async function chargeSearchContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('charges are found by day, key, model and outcome, page by page', async t => {
    let now = Date.parse('2026-05-05T20:59:00Z')
    const store = await open(t, { clock: { now: () => now } })
    const account = await accountWith(store, 1000)
    const other = await accountWith(store, 1000)
    const ids: string[] = []
    const spend = async (accountId: string, index: number): Promise<string> => {
      const exchangeId = newId()
      const keyId = index % 2 === 0 ? 'even' : 'odd'
      const hold = await store.ledger.placeHold({
        exchangeId,
        sequence: 0,
        accountId,
        keyId,
        ...bothSums(roubles(index)),
      })
      const outcome = index === 3 ? 'aborted' : 'completed'
      await store.ledger.charge(hold, chargeOf({ input: index }, { model: index < 5 ? 'a' : 'b', outcome }))
      return exchangeId
    }
    for (let index = 1; index <= 8; index += 1) {
      // From the fifth on it is the next day in Moscow.
      if (index === 5) now += 60_000
      ids.unshift(await spend(account, index))
      await spend(other, index)
    }
    const day = budgetDay(now)
    const { reports } = store
    const first = await reports.findCharges(account, {}, { limit: 5 })
    const second = await reports.findCharges(account, {}, { before: first.next, limit: 5 })
    t.strictSame(
      [...first.charges, ...second.charges].map(charge => charge.requestId),
      ids,
    )
    t.equal(second.next, undefined)

    const amounts = async (search: Parameters<typeof reports.findCharges>[1]): Promise<number[]> => {
      const { charges } = await reports.findCharges(account, search, { limit: 50 })
      const { charges: count, amountMicros } = await reports.chargesTotal(account, search)
      t.equal(count, charges.length)
      t.equal(
        amountMicros,
        charges.reduce((sum, charge) => sum + charge.amountMicros, 0),
      )
      return charges.map(charge => charge.amountMicros / roubles(1))
    }
    t.strictSame(await amounts({ untilDay: day - 1 }), [4, 3, 2, 1])
    t.strictSame(await amounts({ fromDay: day, keyId: 'odd' }), [7, 5])
    t.strictSame(await amounts({ outcome: 'aborted' }), [3])
    t.strictSame(await amounts({ model: 'a', keyId: 'even' }), [4, 2])
    t.strictSame(await amounts({ model: 'nothing' }), [])
    t.strictSame(await reports.chargedModels(account, 10), ['a', 'b'])
  })

  await t.test(
    'the charges of an exchange are listed in order, with their prices, to their account only',
    async t => {
      const store = await open(t)
      const account = await accountWith(store, 100)
      const exchangeId = newId()
      for (const sequence of [0, 1, 2]) {
        const hold = await store.ledger.placeHold({
          exchangeId,
          sequence,
          accountId: account,
          keyId: 'key',
          ...bothSums(roubles(1)),
        })
        const charge = chargeOf({ input: sequence + 1 })
        await store.ledger.recordPrices(charge.lines.map(line => line.price))
        await store.ledger.charge(hold, charge)
      }
      const { reports } = store

      const found = await reports.exchangeCharges(account, exchangeId, { from: 1, limit: 1 })

      t.strictSame(
        found?.charges.map(charge => charge.sequence),
        [1],
      )
      t.strictSame(found?.total, { charges: 3, amountMicros: roubles(6) })
      t.ok(found?.prices.has(found.charges[0]?.lines[0]?.priceVersion ?? ''))
      const stranger = await accountWith(store, 0)
      t.equal(await reports.exchangeCharges(stranger, exchangeId, { from: 0, limit: 9 }), undefined)
      t.equal(await reports.exchangeCharges(account, newId(), { from: 0, limit: 9 }), undefined)
    },
  )
}
