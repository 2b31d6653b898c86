import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t from 'tap'
import { systemClock } from '../../../../lib/platform/clock.ts'
import { LedgerUnavailableError } from '../../../../lib/ledger/ledger.ts'
import type { Hold } from '../../../../lib/ledger/ledger.ts'
import { openSqliteStore } from '../../../../lib/stores/sqlite/sqlite.ts'
import { accountWith, bothSums, chargeOf, holdOf, roubles } from '../../../contracts/store-under-test.ts'
import type { StoreUnderTest } from '../../../contracts/store-under-test.ts'
import { openFile, openNew } from '../open-store.ts'

/** Blocks writes to the store; returns a function that unblocks them. */
function block(file: string): () => void {
  const database = new Database(file)
  database.exec('BEGIN IMMEDIATE')
  return () => {
    database.exec('ROLLBACK')
    database.close()
  }
}

async function untilRefused(store: StoreUnderTest, account: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      await store.ledger.release(await holdOf(store, account, 0))
      await delay(50)
    } catch (error) {
      if (error instanceof LedgerUnavailableError) return
      throw error
    }
  }
  throw new Error('the store kept placing holds')
}

async function untilHeld(store: StoreUnderTest, account: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      const hold = await holdOf(store, account, 0)
      await hold.durable
      return await store.ledger.release(hold)
    } catch (error) {
      if (!(error instanceof LedgerUnavailableError)) throw error
      await delay(50)
    }
  }
  throw new Error('the store did not recover')
}

await t.test('strict: exchanges wait during a short outage and then continue', async t => {
  const store = await openNew(t)
  const account = await accountWith(store, 10)
  const owed = await holdOf(store, account, 4)
  await owed.durable
  const unblock = block(store.file)
  const late = await holdOf(store, account, 1)
  const waiting = Promise.all([
    late.durable,
    store.ledger.charge(owed, chargeOf({ input: 3 })),
    store.ledger.recordObject({
      provider: 'openai',
      kind: 'response',
      id: 'resp_1',
      accountId: account,
      credential: 'default',
      exchangeId: owed.exchangeId,
    }),
  ])
  await untilRefused(store, account)
  const credit = store.accounts.credit({ accountId: account, amountMicros: 1, reason: 'nobody waits' })
  await t.rejects(credit, LedgerUnavailableError)
  t.equal(late.isDurable, false)
  unblock()
  await waiting
  t.equal(late.isDurable, true)
  await store.ledger.charge(late, chargeOf({ input: 1 }))
  t.match(await store.ledger.findObject('openai', 'response', 'resp_1'), { accountId: account })
  const again = await store.restart()
  t.equal((await again.ledger.balance(account)).balanceMicros, roubles(6))
  t.equal((await again.charges(account)).length, 2)
  t.strictSame(again.recovery.releasedHolds, [])
  t.strictSame(await again.verify(), [])
})

await t.test('beyond the limit of waiting operations only running exchanges continue', async t => {
  const store = await openNew(t, { waitingMax: 50 })
  const account = await accountWith(store, 1000)
  const running = await Promise.all(Array.from({ length: 20 }, () => holdOf(store, account, 1)))
  await Promise.all(running.map(hold => hold.durable))
  const unblock = block(store.file)
  const placed: Hold[] = []
  let refusal: unknown
  while (refusal === undefined && placed.length < 1000) {
    try {
      placed.push(await holdOf(store, account, 1))
    } catch (error) {
      refusal = error
    }
  }
  t.match(refusal, { name: 'LedgerUnavailableError', message: 'too many operations wait to be written' })
  t.ok(placed.length >= 50 && placed.length < 200, `${placed.length} were placed`)
  const charges = running.map(hold => store.ledger.charge(hold, chargeOf({ input: 1 })))
  unblock()
  t.equal((await Promise.all(charges)).length, 20)
  await Promise.all(placed.map(hold => hold.durable))
  await Promise.all(placed.map(hold => store.ledger.release(hold)))
  const again = await store.restart()
  t.equal((await again.ledger.balance(account)).availableMicros, roubles(980))
  t.strictSame(await again.verify(), [])
})

await t.test('strict: after the patience writes are refused, and owed charges are written later', async t => {
  const store = await openNew(t, { patienceMs: 0 })
  const account = await accountWith(store, 10)
  const owed = await holdOf(store, account, 4)
  await owed.durable
  const unblock = block(store.file)

  const late = await holdOf(store, account, 1)
  const outcomes = await Promise.allSettled([
    late.durable,
    store.ledger.charge(owed, chargeOf({ input: 3 })),
    store.accounts.credit({ accountId: account, amountMicros: roubles(5), reason: 'late' }),
  ])
  for (const outcome of outcomes) {
    t.equal(outcome.status === 'rejected' && outcome.reason instanceof LedgerUnavailableError, true)
  }
  t.equal(late.isDurable, false)
  await t.rejects(holdOf(store, account, 1), LedgerUnavailableError, 'no hold is placed during the outage')
  await t.rejects(store.ledger.charge(late, chargeOf({ input: 1 })), LedgerUnavailableError)
  await store.ledger.release(late)

  unblock()
  await untilHeld(store, account)
  t.match(await store.ledger.balance(account), {
    balanceMicros: roubles(7),
    heldMicros: 0,
    availableMicros: roubles(7),
  })
  t.match(await store.charges(account), [{ requestId: owed.exchangeId, amount: '3.000000' }])
  t.strictSame(await store.verify(), [])
  const again = await store.restart()
  t.equal((await again.ledger.balance(account)).balanceMicros, roubles(7), 'the failed credit is not booked')
  t.strictSame(again.recovery.releasedHolds, [])
})

await t.test('relaxed: running exchanges continue, and are written later in order', async t => {
  const store = await openNew(t, { durability: 'relaxed' })
  const account = await accountWith(store, 10)
  const unblock = block(store.file)
  const hold = await holdOf(store, account, 4)
  await t.rejects(store.accounts.createKey({ accountId: account }), LedgerUnavailableError)
  t.equal(hold.isDurable, true)
  await store.ledger.charge(hold, chargeOf({ input: 3 }))
  await t.rejects(holdOf(store, account, 1), LedgerUnavailableError)
  unblock()
  await untilHeld(store, account)
  const again = await store.restart()
  t.equal((await again.ledger.balance(account)).balanceMicros, roubles(7))
  t.equal((await again.charges(account)).length, 1)
  t.strictSame(await again.verify(), [])
})

await t.test('closing a store that cannot be written is an error', async t => {
  const file = `${t.testdir()}/gateway.db`
  const store = await openSqliteStore({ file, durability: 'strict', clock: systemClock, patienceMs: 0 })
  const { id } = await store.accounts.createAccount({ email: 'a@b.ru' })
  await store.accounts.credit({ accountId: id, amountMicros: roubles(10), reason: 'test' })
  const hold = await store.ledger.placeHold({
    exchangeId: 'x',
    sequence: 0,
    accountId: id,
    keyId: 'key',
    ...bothSums(roubles(4)),
  })
  await hold.durable
  const unblock = block(file)
  await t.rejects(store.ledger.charge(hold, chargeOf({ input: 3 })), LedgerUnavailableError)
  await t.rejects(store.close(), LedgerUnavailableError)
  unblock()
  const again = await openFile(t, file)
  t.match(
    again.recovery.releasedHolds,
    [{ exchangeId: 'x' }],
    'the exchange is listed with an unknown outcome',
  )
  t.equal((await again.ledger.balance(id)).availableMicros, roubles(10))
  t.strictSame(await again.verify(), [])
})
