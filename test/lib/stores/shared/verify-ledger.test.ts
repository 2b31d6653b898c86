import Database from 'better-sqlite3'
import t from 'tap'
import { invariants } from '../../../../lib/stores/shared/ledger-invariants.ts'
import { accountWith, chargeOf, holdOf } from '../../../contracts/store-under-test.ts'
import { openNew } from '../open-store.ts'
import type { OpenedStore } from '../open-store.ts'

/** Changes rows in ways that the program never does, and verifies the ledger. */
function tamper(store: OpenedStore, sql: string): Promise<readonly string[]> {
  const database = new Database(store.file)
  database.exec(
    `PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;
     DROP TRIGGER charges_stay_as_they_are; DROP TRIGGER charges_stay;
     DROP TRIGGER entries_stay_as_they_are; DROP TRIGGER entries_stay; DROP TRIGGER holds_stay; ${sql}`,
  )
  database.close()
  return store.verify()
}

/** Rows can be duplicated only without the constraints of the table. */
const chargesWithoutKeys = `ALTER TABLE charges RENAME TO strict_charges;
  CREATE TABLE charges AS SELECT * FROM strict_charges;`

const openHold = (values: string): string =>
  `INSERT INTO holds (exchange_id, sequence, account_id, key_id, amount_micros, state, owner, created_at, expires_at, resolved_at)
   SELECT 'x', 0, id, 'key', ${values} FROM accounts WHERE kind = 'customer'`

const openJob = (exchange: string, state: string, resolvedAt: string): string =>
  `INSERT INTO jobs (provider, kind, id, exchange_id, sequence, account_id, key_id, credential, dialect, operation,
     model, facts, state, next_poll_at, deadline_at, created_at, resolved_at)
   SELECT 'openai', 'batch', 'b', ${exchange}, 0, id, 'key', 'c', 'openai', 'batches', 'm', '{}', ${state}, 0, 0, 0,
     ${resolvedAt} FROM accounts WHERE kind = 'customer'`

const correction = (micros: string): string =>
  `INSERT INTO charge_corrections SELECT exchange_id, 0, 1, account_id, ${micros}, 0, 'o', 'r' FROM charges`

const breaches: readonly (readonly [sql: string, expected: RegExp])[] = [
  ["UPDATE entries SET amount_micros = amount_micros - 1 WHERE kind = 'charge'", /do not add up to zero/],
  ["DELETE FROM entries WHERE kind = 'cash'", /do not add up to zero/],
  [
    "UPDATE accounts SET balance_micros = balance_micros + 1 WHERE kind = 'customer'",
    /not the sum of its entries/,
  ],
  ["UPDATE accounts SET balance_micros = -1 WHERE kind = 'customer'", /balance of an account is negative/],
  [openHold(`balance_micros + 1, 'open', 'test', 0, 1e15, NULL`), /open holds of an account are more/],
  [
    `${openHold(`1, 'open', 'test', 0, 0, NULL`)};
     INSERT INTO holds (exchange_id, sequence, account_id, key_id, amount_micros, state, owner, created_at, expires_at, resolved_at)
       SELECT exchange_id || 'y', sequence, account_id, key_id, amount_micros, 'released', owner, 8000000, 8000000, 8000000
       FROM holds WHERE exchange_id = 'x'`,
    /open long after its expiry/,
  ],
  [openHold(`1, 'open', 'test', 0, 1e15, 5`), /neither open nor resolved/],
  [openHold(`1, 'forgotten', 'test', 0, 1e15, 5`), /neither open nor resolved/],
  ["UPDATE holds SET state = 'released', resolved_at = NULL", /neither open nor resolved/],
  [openHold(`1, 'open', 'jobs', 0, 1e15, NULL`), /waits for a job that is not open/],
  [openJob("'x'", "'open'", 'NULL'), /job is open, but has no open hold/],
  [
    `${openHold(`1, 'released', 'jobs', 0, 1e15, 5`)}; ${openJob("'x'", "'charged'", '5')}`,
    /job has ended, but its hold has not/,
  ],
  ['DELETE FROM charges', /is charged, but has no charge/],
  ['DELETE FROM charges', /entry of a charge has no charge/],
  ["UPDATE holds SET state = 'released'", /no hold of the same account that was charged/],
  ['DELETE FROM holds', /no hold of the same account that was charged/],
  [`${chargesWithoutKeys} INSERT INTO charges SELECT * FROM charges`, /an exchange has two charges/],
  [
    "UPDATE holds SET state = 'open', resolved_at = NULL, worst_micros = 1",
    /likely cost of an open hold exceeds its worst case/,
  ],
  ["UPDATE accounts SET debt_micros = 1 WHERE kind = 'customer'", /owes is not what it has overrun/],
  ["UPDATE accounts SET debt_micros = 1 WHERE kind = 'customer'", /owes money while it has free money/],
  ["UPDATE accounts SET paid_micros = paid_micros + 1 WHERE kind = 'customer'", /has paid is not the sum/],
  ["UPDATE entries SET source = 'starting' WHERE kind = 'credit'", /has paid is not the sum/],
  ['UPDATE charges SET amount_micros = amount_micros + 1', /a charge and its entries differ/],
  ['UPDATE charges SET overrun_micros = 1', /a charge and its entries differ/],
  ["UPDATE entries SET account_id = 'house:cash' WHERE kind = 'charge'", /a charge and its entries differ/],
  ['UPDATE charges SET flags = \'["overrun"]\'', /overrun of a charge and its flag differ/],
  ['UPDATE charges SET lines = replace(lines, \'"input":1\', \'"input":2\')', /not what its usage costs/],
  ["UPDATE charges SET lines = '[]'", /do not add up to it/],
  ["UPDATE charges SET lines = '[{]'", /lines of a charge cannot be read/],
  ["UPDATE charges SET raw_usage = '{'", /provider's usage of a charge cannot be read/],
  ['DELETE FROM prices', /names a price that is not known/],
  ["UPDATE prices SET body = replace(body, '1000000', '1000001')", /price is not what its version says/],
  ["UPDATE prices SET body = '{'", /price is not what its version says/],
  ['UPDATE key_spending SET spent_micros = 0', /what a key has spent/],
  ['UPDATE key_spending SET day = day + 1', /what a key has spent/],
  ['DELETE FROM key_spending', /what a key has spent/],
  ['UPDATE charge_sums SET spent_micros = 0', /has spent on a model/],
  ['UPDATE charge_sums SET charges = charges + 1', /has spent on a model/],
  ['DELETE FROM charge_sums', /has spent on a model/],
  [
    `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at) VALUES
       ('y', 0, 'credit', 'house:revenue', 9007199254740992, 0), ('y', 0, 'cash', 'house:cash', -9007199254740992, 0)`,
    /larger than can be counted/,
  ],
  [correction('1'), /a correction and its entry differ/],
  [correction('amount_micros + 1'), /return more than it cost/],
  [correction('-1'), /return more than it cost, or less than nothing/],
  [
    `INSERT INTO entries (exchange_id, sequence, kind, account_id, amount_micros, at)
       SELECT 'correction:x/0/1', 0, 'correction', id, 1, 0 FROM accounts WHERE kind = 'customer'`,
    /other entries of corrections than corrections/,
  ],
  ["UPDATE charges SET account_id = 'nobody'", /refer to rows that do not exist/],
]

await t.test('verify finds every kind of breach', async t => {
  const found: string[] = []
  for (const [sql, expected] of breaches) {
    await t.test(sql.split('\n', 1)[0] ?? '', async t => {
      const store = await openNew(t)
      const account = await accountWith(store, 100)
      const raw = { rawUsage: '{"prompt_tokens":1}' }
      await store.ledger.charge(await holdOf(store, account, 5), chargeOf({ input: 1 }, raw))
      t.strictSame(await store.verify(), [])
      const sentences = await tamper(store, sql)
      t.match(sentences.join('\n'), expected)
      found.push(...sentences)
    })
  }
  const missed = invariants.filter(([sentence]) => !found.some(breach => breach.startsWith(sentence)))
  t.strictSame(missed, [], 'every invariant is broken by some row')
})

await t.test('the breaches of one kind are limited in number', async t => {
  const store = await openNew(t)
  const account = await accountWith(store, 1000)
  for (let index = 0; index < 30; index += 1) {
    await store.ledger.charge(await holdOf(store, account, 5), chargeOf({ input: 1 }))
  }
  const sentences = await tamper(store, 'UPDATE charges SET amount_micros = amount_micros + 1')
  t.equal(sentences.filter(sentence => sentence.startsWith('a charge and its entries differ')).length, 21)
  t.ok(sentences.includes('a charge and its entries differ: and more of them'))
  t.ok(sentences.length < 70)
})

await t.test('a ledger with charges around midnight has no breach', async t => {
  let now = Date.parse('2026-05-05T20:59:59.999Z')
  const store = await openNew(t, { clock: { now: () => now } })
  const account = await accountWith(store, 1000)
  await store.ledger.charge(await holdOf(store, account, 5), chargeOf({ input: 1 }))
  now += 1
  await store.ledger.charge(await holdOf(store, account, 5), chargeOf({ input: 1 }))
  now -= 48 * 3_600_000
  await store.ledger.charge(await holdOf(store, account, 5), chargeOf({ input: 1 }))
  t.strictSame(await store.verify(), [])
})

await t.test('setting the clock during an exchange causes no breach', async t => {
  const hourMs = 3_600_000
  let now = Date.parse('2026-05-05T20:00:00Z')
  const store = await openNew(t, { clock: { now: () => now } })
  const account = await accountWith(store, 1000)
  const open = await holdOf(store, account, 5)
  for (const jumpMs of [365 * 24 * hourMs, hourMs, -400 * 24 * hourMs, -hourMs, 36 * 24 * hourMs]) {
    now += jumpMs
    await store.ledger.charge(await holdOf(store, account, 5), chargeOf({ input: 1 }))
    t.strictSame(await store.verify(), [], `by ${jumpMs / hourMs} hours`)
  }
  await store.ledger.charge(open, chargeOf({ input: 1 }))
  t.strictSame(await store.verify(), [])
})
