import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { LedgerUnavailableError } from '../../../../lib/ledger/ledger.ts'
import type { ChargeResult, Hold } from '../../../../lib/ledger/ledger.ts'
import { systemClock } from '../../../../lib/platform/clock.ts'
import { openPostgresStore } from '../../../../lib/stores/postgres/postgres.ts'
import { accountWith, chargeOf, holdOf, roubles } from '../../../contracts/store-under-test.ts'
import type { StoreUnderTest } from '../../../contracts/store-under-test.ts'
import { startCuttingProxy } from '../../../fixtures/cutting-proxy.ts'
import type { CuttingProxy } from '../../../fixtures/cutting-proxy.ts'
import { inDatabase } from '../../../fixtures/in-database.ts'
import { startPostgres } from '../../../fixtures/postgres-server.ts'
import { until } from '../../../fixtures/until.ts'
import { openNode } from './open-postgres.ts'

type Test = Parameters<typeof openNode>[0]

const server = await startPostgres(t)

/** A node that connects to its database through a cutting proxy. */
async function openBehind(
  t: Test,
): Promise<{ readonly store: StoreUnderTest; readonly proxy: CuttingProxy }> {
  const url = await server.createDatabase()
  const proxy = await startCuttingProxy(t, server.port)
  const store = await openNode(t, url.replace(`:${server.port}/`, `:${proxy.port}/`))
  return { store, proxy }
}

/** Places a hold of one rouble; undefined while the store cannot be written. */
async function tryHold(store: StoreUnderTest, account: string): Promise<Hold | undefined> {
  try {
    return await holdOf(store, account, 1)
  } catch (error) {
    if (error instanceof LedgerUnavailableError) return undefined
    throw error
  }
}

/** Runs exchanges of one rouble by 16 clients during a disturbance; returns the ids of those reported as charged. */
async function spendWhile(
  store: StoreUnderTest,
  account: string,
  disturb: () => Promise<void>,
): Promise<readonly string[]> {
  const exchanges: string[] = []
  let isOver = false
  const client = async (_: unknown, index: number): Promise<void> => {
    // Staggered, so that some clients hold while others charge.
    await delay(index % 5)
    while (!isOver) {
      const hold = await tryHold(store, account)
      if (hold === undefined) {
        await delay(5)
        continue
      }
      const { amountMicros } = await store.ledger.charge(hold, chargeOf({ input: 1 }))
      if (amountMicros !== roubles(1)) throw new Error(`${amountMicros} was charged`)
      exchanges.push(hold.exchangeId)
    }
  }
  const clients = Array.from({ length: 16 }, client)
  await disturb()
  const served = exchanges.length
  // The node recovers by itself.
  await until(() => exchanges.length > served + 50, 15_000)
  isOver = true
  await Promise.all(clients)
  return exchanges
}

/** Checks that each exchange reported as charged has one charge, and that nothing else was paid. */
async function checkSpent(
  t: Test,
  store: StoreUnderTest,
  account: string,
  spent: readonly string[],
): Promise<void> {
  await until(async () => (await store.ledger.balance(account)).heldMicros === 0)
  const charged = (await store.charges(account)).map(charge => charge.requestId)
  t.strictSame(charged.toSorted(), spent.toSorted(), 'no charge is lost or doubled')
  const { balanceMicros } = await store.ledger.balance(account)
  t.equal(balanceMicros, roubles(100_000 - charged.length))
  t.strictSame(await store.verify(), [])
}

await t.test('a charge whose commit has no response is found, and not repeated', async t => {
  const { store, proxy } = await openBehind(t)
  const account = await accountWith(store, 10)
  const hold = await holdOf(store, account, 5)
  const cut = proxy.cutAnswerTo('"charge"')
  const charged: Promise<ChargeResult> = store.ledger.charge(hold, chargeOf({ input: 3 }))
  await cut
  t.match(await charged, { amountMicros: roubles(3), overrunMicros: 0 })
  t.equal((await store.charges(account)).length, 1)
  t.equal((await store.ledger.balance(account)).balanceMicros, roubles(7))
  t.strictSame(await store.verify(), [])
})

await t.test('a hold whose commit has no response is refused, and holds nothing', async t => {
  const { store, proxy } = await openBehind(t)
  const account = await accountWith(store, 10)
  const cut = proxy.cutAnswerTo('"hold"')
  const held = holdOf(store, account, 5)
  held.catch(() => undefined)
  await cut
  await t.rejects(held, LedgerUnavailableError)
  await until(async () => (await tryHold(store, account)) !== undefined)
  t.equal((await store.ledger.balance(account)).heldMicros, roubles(1), 'only the later hold')
  t.strictSame(await store.verify(), [])
})

await t.test('a change of accounts whose commit has no response is made once', async t => {
  const { store, proxy } = await openBehind(t)
  const account = await accountWith(store, 10)
  const change = async <T>(run: () => Promise<T>): Promise<T> => {
    const cut = proxy.cutAnswerTo('COMMIT')
    const [result] = await Promise.all([run(), cut])
    return result
  }
  const credit = { accountId: account, amountMicros: roubles(5), reason: 'test' }
  const { balanceMicros } = await change(() => store.accounts.credit(credit))
  t.equal(balanceMicros, roubles(15))
  const { id } = await change(() => store.accounts.createKey({ accountId: account }))
  t.equal((await store.reports.keys(account)).length, 1)
  await change(() => store.accounts.revokeKey(id))
  await change(() => store.accounts.createAccount({ email: 'a@b.ru' }))
  t.equal((await store.reports.accounts()).length, 2)
  t.strictSame(await store.verify(), [])
})

await t.test('connections that break at any moment lose and double no charge', async t => {
  const { store, proxy } = await openBehind(t)
  const account = await accountWith(store, 100_000)
  const spent = await spendWhile(store, account, async () => {
    for (let count = 0; count < 8; count += 1) {
      await delay(40 + count * 7)
      if (count % 2 === 0) proxy.cutAll()
      else await proxy.cutAnswerTo('"kind"')
    }
  })
  await checkSpent(t, store, account, spent)
})

await t.test('a node recovers from a restart of its database under load, with a clear error', async t => {
  const { store } = await openBehind(t)
  const account = await accountWith(store, 100_000)
  const messages = new Set<string>()
  const spent = await spendWhile(store, account, async () => {
    await delay(150)
    await server.stop()
    await delay(300)
    const [late] = await Promise.allSettled([holdOf(store, account, 1)])
    if (late.status === 'rejected') messages.add(String(late.reason))
    await server.start()
  })
  t.match([...messages], [/LedgerUnavailableError: the store cannot be written: /])
  await checkSpent(t, store, account, spent)
})

await t.test('a charge that a broken schema refuses is retried until the schema is repaired', async t => {
  const url = await server.createDatabase()
  const store = await openNode(t, url)
  const account = await accountWith(store, 10)
  const hold = await holdOf(store, account, 5)
  const rename = (table: string, name: string): Promise<void> =>
    inDatabase(url, client => client.query(`ALTER TABLE ${table} RENAME TO ${name}`))
  await rename('charges', 'mislaid')
  const charged = store.ledger.charge(hold, chargeOf({ input: 3 }))
  charged.catch(() => undefined)
  await until(async () => (await tryHold(store, account)) === undefined)
  await rename('mislaid', 'charges')
  t.match(await charged, { amountMicros: roubles(3), overrunMicros: 0 })
  t.equal((await store.charges(account)).length, 1)
  await until(async () => (await tryHold(store, account)) !== undefined)
  t.strictSame(await store.verify(), [])
})

await t.test('closing a node without its database reports the unwritten charge', async t => {
  const proxy = await startCuttingProxy(t, server.port)
  const url = (await server.createDatabase()).replace(`:${server.port}/`, `:${proxy.port}/`)
  const store = await openPostgresStore({ url, durability: 'strict', clock: systemClock })
  const { id: account } = await store.accounts.createAccount({ email: 'a@b.ru' })
  const hold = await holdOf(store, account, 0)
  proxy.block(true)
  const charged = store.ledger.charge(hold, chargeOf({ input: 3 }))
  charged.catch(() => undefined)
  await delay(50)
  await t.rejects(holdOf(store, account, 1), LedgerUnavailableError)
  await t.rejects(store.close(), LedgerUnavailableError)
  await t.rejects(charged, LedgerUnavailableError)
})
