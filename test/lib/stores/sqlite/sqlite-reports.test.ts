import t from 'tap'
import { SqliteQueries } from '../../../../lib/stores/sqlite/sqlite-queries.ts'
import type { ChargesFilter } from '../../../../lib/ledger/reports.ts'
import { accountWith, chargeOf, holdOf, roubles, testPrice } from '../../../contracts/store-under-test.ts'
import { openNew } from '../open-store.ts'

await t.test('a charge is reported with the fields of its contract', async t => {
  const store = await openNew(t, { clock: { now: () => Date.parse('2026-05-05T01:02:03.004Z') } })
  const account = await accountWith(store, 100)
  const hold = await holdOf(store, account, 50)
  await store.ledger.charge(
    hold,
    chargeOf(
      {},
      {
        lines: [
          { usage: { meters: { input: 1, output: 2 } }, price: testPrice },
          { usage: { model: 'n', meters: { input: 3 }, variant: 'big' }, price: testPrice },
        ],
        details: { reasoning: 1 },
        flags: ['usage_zero'],
        outcome: 'aborted',
        usageSource: 'drained',
      },
    ),
  )
  t.strictSame(await Array.fromAsync(store.reports.charges(account)), [
    {
      requestId: hold.exchangeId,
      sequence: 0,
      at: '2026-05-05T01:02:03.004Z',
      account,
      key: 'key',
      provider: 'openai',
      model: 'm',
      dialect: 'openai',
      operation: 'chat',
      outcome: 'aborted',
      usage: { input: 4, output: 2 },
      usageSource: 'drained',
      lines: [
        { model: 'm', meters: { input: 1, output: 2 }, priceVersion: testPrice.hash, amount: '21.000000' },
        {
          model: 'n',
          meters: { input: 3 },
          variant: 'big',
          priceVersion: testPrice.hash,
          amount: '3.000000',
        },
      ],
      details: { reasoning: 1 },
      amount: '24.000000',
      flags: ['usage_zero'],
    },
  ])
})

await t.test('charges are read oldest first, by account, by exchange and by alarms', async t => {
  const store = await openNew(t)
  const one = await accountWith(store, 100)
  const two = await accountWith(store, 100)
  for (const account of [one, two, one]) {
    await store.ledger.charge(await holdOf(store, account, 5), chargeOf({ input: 1 }))
  }
  await store.ledger.charge(await holdOf(store, one, 5), chargeOf({ input: 1, searches: 1 }))
  await store.ledger.charge(await holdOf(store, two, 5), chargeOf({ input: 2 }, { usageSource: 'estimated' }))
  const { reports } = store
  const read = (account?: string, filter: ChargesFilter = {}) =>
    Array.fromAsync(reports.charges(account, filter))
  t.strictSame(
    (await read()).map(charge => charge.account),
    [one, two, one, one, two],
  )
  t.equal((await read(one)).length, 3)
  t.strictSame(
    (await read(undefined, { alarmsOnly: true })).map(charge => [
      charge.account,
      charge.usageSource,
      charge.flags,
    ]),
    [
      [one, 'provider', ['meter_unpriced']],
      [two, 'estimated', []],
    ],
  )
  const [first, second] = await read(one)
  const exchangeId = first?.requestId ?? ''
  t.strictSame(await read(one, { exchangeId }), [first])
  t.strictSame(await read(two, { exchangeId }), [], 'another account does not see the charge')
  t.strictSame((await read(one, { after: exchangeId }))[0], second)
  t.strictSame(await read(one, { after: 'nothing' }), [])
  t.equal((await read(one, { keyId: 'key' })).length, 3)
  t.equal((await read(one, { keyId: 'other' })).length, 0)
})

await t.test('charges are read in pages, completely or from a moment on', async t => {
  let now = Date.parse('2026-05-05T00:00:00Z')
  const store = await openNew(t, { clock: { now: () => now++ } })
  const account = await accountWith(store, 2000)
  const holds = await Promise.all(Array.from({ length: 1201 }, () => holdOf(store, account, 1)))
  await Promise.all(holds.map(hold => store.ledger.charge(hold, chargeOf({ input: 1 }))))
  const all = await Array.fromAsync(store.reports.charges(account))
  t.equal(new Set(all.map(charge => charge.requestId)).size, 1201)
  const since = Date.parse(all[1000]?.at ?? '')
  t.strictSame(await Array.fromAsync(store.reports.charges(account, { since })), all.slice(1000))
})

await t.test('balances, accounts and keys are read while the store is open', async t => {
  const store = await openNew(t)
  const { reports } = store
  const { id } = await store.accounts.createAccount({ email: 'a@b.ru', name: 'Anna' })
  await store.accounts.credit({ accountId: id, amountMicros: roubles(10), reason: 'gift' })
  const { id: key } = await store.accounts.createKey({ accountId: id, name: 'laptop', models: ['m'] })
  await (
    await holdOf(store, id, 4)
  ).durable
  const balance = { balanceMicros: roubles(10), heldMicros: roubles(4), availableMicros: roubles(6) }
  t.match(await reports.balance(id), balance)
  t.match(await reports.account(id), { id, name: 'Anna', email: 'a@b.ru', ...balance })
  t.strictSame(await reports.accounts(), [await reports.account(id)])
  t.match(await reports.keys(id), [{ id: key, name: 'laptop', models: ['m'] }])
  t.equal(await reports.balance('nobody'), undefined)
  t.equal(await reports.balance('house:cash'), undefined, 'the house account has no balance report')
})

await t.test('the error of a missing store says what to do', t => {
  t.throws(() => new SqliteQueries(`${t.testdirName}/none.db`), {
    name: 'StoreError',
    message: /no store at .*account create/,
  })
  t.end()
})

await t.test('the error of an incompletely created store says what to do', t => {
  const file = `${t.testdir({ 'empty.db': '' })}/empty.db`
  t.throws(() => new SqliteQueries(file), { name: 'StoreError', message: /older release/ })
  t.end()
})
