import fc from 'fast-check'
import t from 'tap'
import { normalEmail, StartingCredits } from '../../../lib/payments/starting-credit.ts'
import { accountWith, roubles } from '../../contracts/store-under-test.ts'
import { silentLog } from '../../fixtures/payment-shop.ts'
import { openNew } from '../stores/open-store.ts'

await t.test('spellings of one mailbox are one address', async t => {
  for (const [one, other] of [
    ['Ivan.Petrov+ai@gmail.com', 'ivanpetrov@googlemail.com'],
    ['ivan-petrov@ya.ru', 'Ivan.Petrov@yandex.ru'],
    ['name+1@example.org', ' NAME@example.org '],
  ] as const)
    t.equal(normalEmail(one), normalEmail(other))

  t.not(normalEmail('i.van@example.org'), normalEmail('ivan@example.org'))
  fc.assert(fc.property(fc.emailAddress(), email => normalEmail(normalEmail(email)) === normalEmail(email)))
})

await t.test(
  'a starting credit is granted once for each mailbox and to a limited number a day, also concurrently',
  async t => {
    const clock = { at: Date.UTC(2026, 10, 22), now: () => clock.at }
    const store = await openNew(t, { clock })
    const settings = () => ({ amountMicros: roubles(50), accountsPerDay: 3 })
    const credits = new StartingCredits({ records: await store.records(), clock, log: silentLog, settings })
    const accounts = await Promise.all(Array.from({ length: 6 }, () => accountWith(store, 0)))
    const [first = '', second = ''] = accounts

    const [one, another] = await Promise.all([
      credits.grant(first, 'a+1@gmail.com'),
      credits.grant(second, 'a@gmail.com'),
    ])
    t.not(one, another, 'one of the two is granted')
    const others = await Promise.all(
      accounts.slice(2).map((id, index) => credits.grant(id, `${index}@example.org`)),
    )
    t.equal(others.filter(Boolean).length, 2)
    clock.at += 86_400_000
    t.equal(await credits.grant(accounts[others.indexOf(false) + 2] ?? '', 'late@example.org'), true)

    const balances = await Promise.all(accounts.map(id => store.ledger.balance(id)))
    t.equal(
      balances.reduce((sum, { balanceMicros }) => sum + balanceMicros, 0),
      roubles(50 * 4),
    )
    t.strictSame(await store.verify(), [])
  },
)

await t.test('concurrent grants all succeed while the limit of the day allows', async t => {
  const clock = { now: () => Date.UTC(2026, 10, 22) }
  const store = await openNew(t, { clock })
  const settings = () => ({ amountMicros: roubles(50), accountsPerDay: 20 })
  const credits = new StartingCredits({ records: await store.records(), clock, log: silentLog, settings })
  const accounts = await Promise.all(Array.from({ length: 20 }, () => accountWith(store, 0)))

  const given = await Promise.all(accounts.map((id, index) => credits.grant(id, `${index}@example.org`)))

  t.equal(given.filter(Boolean).length, 20)
  t.strictSame(await store.verify(), [])
})
