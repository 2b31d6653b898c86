import t from 'tap'
import type { KeyRecord } from '../../../lib/accounts/accounts.ts'
import { KeySpending } from '../../../lib/ledger/key-spending.ts'

const at = (text: string): number => Date.parse(text)

function keyWith(budgetPeriod: KeyRecord['budgetPeriod']): KeyRecord {
  const base = { id: 'k', accountId: 'a', name: '', lastFour: 'abcd', createdAt: 0, budgetMicros: 100 }
  return budgetPeriod === undefined ? base : { ...base, budgetPeriod }
}

function spendingOf(...spent: readonly (readonly [text: string, micros: number])[]): KeySpending {
  const spending = new KeySpending()
  spending.watch('k')
  for (const [text, micros] of spent) spending.spend('k', micros, at(text))
  return spending
}

await t.test('a budget counts from the beginning of its period', t => {
  // 1 May 2026 is a Friday.
  const spending = spendingOf(
    ['2026-04-26T23:59:59Z', 1],
    ['2026-04-27T00:00:00Z', 2],
    ['2026-04-30T23:59:59Z', 4],
    ['2026-05-01T00:00:00Z', 8],
    ['2026-05-02T12:00:00Z', 16],
  )
  const now = at('2026-05-02T13:00:00Z')
  const spent = (period: KeyRecord['budgetPeriod']) => spending.budget(keyWith(period), now)?.spentMicros
  t.equal(spent('day'), 16)
  t.equal(spent('week'), 2 + 4 + 8 + 16)
  t.equal(spent('month'), 8 + 16)
  t.equal(spent('total'), 31)
  t.equal(spent(undefined), 31)
  t.end()
})

await t.test('a budget tells when it starts anew', t => {
  const spending = spendingOf()
  const now = at('2026-12-31T13:00:00Z')
  const resets = (period: KeyRecord['budgetPeriod']) => spending.budget(keyWith(period), now)?.resetsAt
  t.equal(resets('day'), at('2027-01-01'))
  t.equal(resets('week'), at('2027-01-04'))
  t.equal(resets('month'), at('2027-01-01'))
  t.equal(resets('total'), undefined)
  t.end()
})

await t.test('what is held is not available, and availability never falls below nothing', t => {
  const spending = spendingOf(['2026-05-02T12:00:00Z', 30])
  const now = at('2026-05-02T13:00:00Z')
  spending.hold('k', 50)
  t.match(spending.budget(keyWith('day'), now), { spentMicros: 30, heldMicros: 50, availableMicros: 20 })
  spending.hold('k', 50)
  t.match(spending.budget(keyWith('day'), now), { heldMicros: 100, availableMicros: 0 })
  spending.unhold('k', 100)
  t.match(spending.budget(keyWith('day'), now), { heldMicros: 0, availableMicros: 70 })
  t.end()
})

await t.test('keys without a budget are not counted', t => {
  const spending = spendingOf()
  const { budgetMicros: _, ...free } = keyWith('day')
  t.equal(spending.budget(free, 0), undefined)
  spending.hold('other', 5)
  t.equal(spending.budget({ ...keyWith('day'), id: 'other' }, 0), undefined)
  t.end()
})
