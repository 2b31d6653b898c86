import t from 'tap'
import { KeySpending } from '../../../lib/ledger/key-spending.ts'
import type { BudgetLimit } from '../../../lib/ledger/key-spending.ts'

const at = (text: string): number => Date.parse(text)

const limitOf = (period: BudgetLimit['period']): BudgetLimit => ({ budgetMicros: 100, period })

function spendingOf(...spent: readonly (readonly [text: string, micros: number])[]): KeySpending {
  const spending = new KeySpending()
  spending.watch('k')
  for (const [text, micros] of spent) spending.spend('k', micros, at(text))
  return spending
}

await t.test("a budget counts from the beginning of its period, in Moscow's time", t => {
  // 1 May 2026 is a Friday.
  const spending = spendingOf(
    ['2026-04-26T23:59:59+03:00', 1],
    ['2026-04-27T00:00:00+03:00', 2],
    ['2026-04-30T23:59:59+03:00', 4],
    ['2026-05-01T00:00:00+03:00', 8],
    ['2026-05-02T00:30:00+03:00', 16],
  )
  const now = at('2026-05-02T13:00:00Z')
  const spent = (period: BudgetLimit['period']) => spending.budget('k', limitOf(period), now).spentMicros
  t.equal(spent('day'), 16)
  t.equal(spent('week'), 2 + 4 + 8 + 16)
  t.equal(spent('month'), 8 + 16)
  t.equal(spent('total'), 31)
  t.end()
})

await t.test('a budget has the time of its next reset', t => {
  const spending = spendingOf()
  const resetsAfter = (period: BudgetLimit['period'], now: string) =>
    spending.budget('k', limitOf(period), at(now)).resetsAt
  const now = '2026-12-31T20:59:59Z'
  t.equal(resetsAfter('day', now), at('2027-01-01T00:00:00+03:00'))
  t.equal(resetsAfter('week', now), at('2027-01-04T00:00:00+03:00'))
  t.equal(resetsAfter('month', now), at('2027-01-01T00:00:00+03:00'))
  t.equal(resetsAfter('total', now), undefined)
  const aSecondLater = '2026-12-31T21:00:00Z'
  t.equal(resetsAfter('day', aSecondLater), at('2027-01-02T00:00:00+03:00'))
  t.equal(resetsAfter('month', aSecondLater), at('2027-02-01T00:00:00+03:00'))
  t.end()
})

const sums = (micros: number) => ({ likelyMicros: micros, worstMicros: micros })

await t.test('held money is not available, and the available amount is never below zero', t => {
  const spending = spendingOf(['2026-05-02T12:00:00Z', 30])
  const now = at('2026-05-02T13:00:00Z')
  const budget = () => spending.budget('k', limitOf('day'), now)
  spending.hold('k', sums(50))
  t.match(budget(), { spentMicros: 30, heldMicros: 50, availableMicros: 20 })
  spending.check('k', limitOf('day'), sums(20), 0, now)
  t.throws(() => spending.check('k', limitOf('day'), sums(21), 0, now), {
    name: 'KeyBudgetExceededError',
    likelyMicros: 21,
    budget: { availableMicros: 20 },
  })
  spending.hold('k', sums(50))
  t.match(budget(), { heldMicros: 100, availableMicros: 0 })
  spending.unhold('k', sums(100))
  t.match(budget(), { heldMicros: 0, availableMicros: 70 })
  t.end()
})

await t.test('spending of unwatched keys is not counted', t => {
  const spending = spendingOf()
  spending.hold('other', sums(5))
  spending.spend('other', 5, 0)
  t.match(spending.budget('other', limitOf('total'), 0), { spentMicros: 0, heldMicros: 0 })
  t.end()
})

await t.test('reversed spending is subtracted only where it was counted', t => {
  const spending = new KeySpending()
  const spent = () => spending.budget('k', limitOf('total'), 0).spentMicros
  const before = spending.spend('k', 5, 0)
  spending.watch('k')
  const counted = spending.spend('k', 7, 0)
  spending.unspend(before)
  t.equal(spent(), 7, 'the key had no budget then')
  spending.unspend(counted)
  t.equal(spent(), 0)
  const old = spending.spend('k', 9, 0)
  spending.forget('k')
  spending.watchFromNow('k', sums(0))
  spending.unspend(old)
  t.equal(spent(), 0, 'the key has another budget now')
  t.end()
})
