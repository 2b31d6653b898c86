import Database from 'better-sqlite3'
import t from 'tap'
import { systemClock } from '../../../lib/clock.ts'
import { openSqliteReports } from '../../../lib/stores/sqlite-reports.ts'
import type { ChargesFilter } from '../../../lib/ledger/reports.ts'
import { accountWith, chargeOf, holdOf, roubles, testPrice } from '../../contracts/store-under-test.ts'
import { openNew } from './open-store.ts'
import type { OpenedStore } from './open-store.ts'

await t.test('a charge reads as its contract says', async t => {
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

await t.test('charges are read oldest first, of one account or all, and by their alarms', async t => {
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
  t.strictSame(await read(two, { exchangeId }), [], 'not of another account')
  t.strictSame((await read(one, { after: exchangeId }))[0], second)
  t.strictSame(await read(one, { after: 'nothing' }), [])
  t.equal((await read(one, { keyId: 'key' })).length, 3)
  t.equal((await read(one, { keyId: 'other' })).length, 0)
})

await t.test('charges are read page by page, whole and from a moment on', async t => {
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

await t.test('balances, accounts and keys are read beside the running store', async t => {
  const store = await openNew(t)
  const { reports } = store
  const { id } = await store.accounts.createAccount({ email: 'a@b.ru', name: 'Anna' })
  await store.accounts.credit({ accountId: id, amountMicros: roubles(10), reason: 'gift' })
  const { id: key } = await store.accounts.createKey({ accountId: id, name: 'laptop', models: ['m'] })
  await (
    await holdOf(store, id, 4)
  ).durable
  const balance = { balanceMicros: roubles(10), heldMicros: roubles(4), availableMicros: roubles(6) }
  t.strictSame(await reports.balance(id), balance)
  t.match(await reports.account(id), { id, name: 'Anna', email: 'a@b.ru', ...balance })
  t.strictSame(await reports.accounts(), [await reports.account(id)])
  t.match(await reports.keys(id), [{ id: key, name: 'laptop', models: ['m'] }])
  t.equal(await reports.balance('nobody'), undefined)
  t.equal(await reports.balance('house:cash'), undefined, 'the house is no account of anybody')
})

await t.test('a store that is missing is an error that says what to do', t => {
  t.throws(() => openSqliteReports(`${t.testdirName}/none.db`, systemClock), {
    name: 'StoreError',
    message: /no store at .*account create/,
  })
  t.end()
})

await t.test(
  'a file that a program has only begun to make into a store is an error that says what to do',
  t => {
    const file = `${t.testdir({ 'empty.db': '' })}/empty.db`
    t.throws(() => openSqliteReports(file, systemClock), { name: 'StoreError', message: /older release/ })
    t.end()
  },
)

/** Does by force what the program never does. */
function tamper(store: OpenedStore, sql: string): Promise<readonly string[]> {
  const database = new Database(store.file)
  database.exec(
    `PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;
     DROP TRIGGER charges_stay_as_they_are; DROP TRIGGER charges_stay;
     DROP TRIGGER entries_stay_as_they_are; DROP TRIGGER entries_stay; ${sql}`,
  )
  database.close()
  return store.verify()
}

const breaches: readonly (readonly [sql: string, expected: RegExp])[] = [
  ["UPDATE entries SET amount_micros = amount_micros - 1 WHERE kind = 'charge'", /do not add up to zero/],
  [
    "UPDATE accounts SET balance_micros = balance_micros + 1 WHERE kind = 'customer'",
    /not the sum of its entries/,
  ],
  ["UPDATE accounts SET balance_micros = -1 WHERE kind = 'customer'", /balance of an account is negative/],
  [
    `INSERT INTO holds SELECT 'x', 0, id, 'key', balance_micros + 1, 'open', 'test', 0, 0, NULL
     FROM accounts WHERE kind = 'customer'`,
    /open holds of an account are more/,
  ],
  ['DELETE FROM charges', /is charged, but has no charge/],
  ['DELETE FROM charges', /entry of a charge has no charge/],
  ["UPDATE holds SET state = 'released'", /no hold of the same account that was charged/],
  ['UPDATE charges SET amount_micros = amount_micros + 1', /a charge and its entries differ/],
  ['UPDATE charges SET flags = \'["overrun"]\'', /not flagged/],
  ['UPDATE charges SET lines = replace(lines, \'"input":1\', \'"input":2\')', /not what its usage costs/],
  ["UPDATE charges SET lines = '[]'", /do not add up to it/],
  ['DELETE FROM prices', /names a price that is not known/],
  ['UPDATE key_spending SET spent_micros = 0', /what a key has spent/],
  ["UPDATE charges SET account_id = 'nobody'", /refer to rows that do not exist/],
]

await t.test('verify finds every kind of breach', async t => {
  for (const [sql, expected] of breaches) {
    await t.test(sql.split('\n', 1)[0] ?? '', async t => {
      const store = await openNew(t)
      const account = await accountWith(store, 100)
      await store.ledger.charge(await holdOf(store, account, 5), chargeOf({ input: 1 }))
      t.strictSame(await store.verify(), [])
      t.match((await tamper(store, sql)).join('\n'), expected)
    })
  }
})
