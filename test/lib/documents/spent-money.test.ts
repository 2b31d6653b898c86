import fc from 'fast-check'
import t from 'tap'
import { lotsOf, spentBetween, type MoneyMoved } from '../../../lib/documents/account-money.ts'

const moved = (id: string, amount: number, isGift = false): MoneyMoved => ({ id, at: 0, amount, isGift })
const parts = (found: ReturnType<typeof spentBetween>) =>
  Object.fromEntries(found.map(({ lot, amount }) => [lot.id, amount]))

await t.test('money is spent in the order in which it was received', async t => {
  const lots = lotsOf([moved('credit:gift', 50, true), moved('transfer:a:1', 100), moved('payment:b', 200)])

  t.strictSame(parts(spentBetween(lots, 0, 60)), { 'credit:gift': 50, 'transfer:a:1': 10 })
  t.strictSame(parts(spentBetween(lots, 60, 200)), { 'transfer:a:1': 90, 'payment:b': 50 })
  t.strictSame(parts(spentBetween(lots, 200, 200)), {})
  t.strictSame(parts(spentBetween(lots, 300, 900)), { 'payment:b': 50 }, 'no more than was received')
})

await t.test('a reversed transfer is never spent, also with later transfers', async t => {
  const lots = lotsOf([
    moved('transfer:a:1', 100),
    moved('transfer:b:1', 70),
    moved('transfer:a:2', -100),
    moved('transfer:a:3', 100),
  ])

  t.strictSame(parts(spentBetween(lots, 0, 1000)), { 'transfer:b:1': 70, 'transfer:a:3': 100 })
})

await t.test('a refund is deducted from the newest money', async t => {
  const lots = lotsOf([moved('payment:a', 100), moved('payment:b', 100), moved('refund:x', -130)])

  t.strictSame(parts(spentBetween(lots, 0, 1000)), { 'payment:a': 70 })
})

await t.test('a refund of a payment is deducted from that payment first', async t => {
  const refund = { ...moved('refund:x', -130), refundOf: 'payment:a' }
  const lots = lotsOf([moved('payment:a', 100), moved('payment:b', 100), refund])

  t.strictSame(parts(spentBetween(lots, 0, 1000)), { 'payment:b': 70 })
})

await t.test('consecutive months spend each kopeck once', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 1000 }), { maxLength: 8 }),
      fc.array(fc.nat(500), { maxLength: 8 }),
      (amounts, months) => {
        const lots = lotsOf(amounts.map((amount, index) => moved(`payment:${index}`, amount)))
        const total = amounts.reduce((sum, one) => sum + one, 0)
        let charged = 0
        const spent = new Map<string, number>()
        for (const month of months) {
          for (const { lot, amount } of spentBetween(lots, charged, charged + month))
            spent.set(lot.id, (spent.get(lot.id) ?? 0) + amount)
          charged += month
        }
        const sum = [...spent.values()].reduce((all, one) => all + one, 0)
        return sum === Math.min(total, charged) && lots.every(lot => (spent.get(lot.id) ?? 0) <= lot.amount)
      },
    ),
  )
})
