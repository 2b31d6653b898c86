import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { keyDigest } from '../../../../lib/accounts/memory-key-directory.ts'
import { BalanceInsufficientError, LedgerUnavailableError } from '../../../../lib/ledger/ledger.ts'
import { accountWith, chargeOf, holdOf, roubles } from '../../../contracts/store-under-test.ts'
import { startCuttingProxy } from '../../../fixtures/cutting-proxy.ts'
import { inDatabase } from '../../../fixtures/in-database.ts'
import { startPostgres } from '../../../fixtures/postgres-server.ts'
import { until } from '../../../fixtures/until.ts'
import { openNode } from './open-postgres.ts'

const server = await startPostgres(t)

await t.test('a node survives a server that shuts down while it accepts a connection', async t => {
  const url = await server.createDatabase()
  const proxy = await startCuttingProxy(t, server.port)
  const store = await openNode(t, url.replace(`:${server.port}/`, `:${proxy.port}/`))
  const account = await accountWith(store, 10)
  const hold = await holdOf(store, account, 1)
  proxy.letGo(true)
  const charged = store.ledger.charge(hold, chargeOf({ input: 1 }))
  await delay(1200)
  proxy.letGo(false)
  t.match(await charged, { amountMicros: roubles(1) })
  t.equal((await store.charges(account)).length, 1)
  t.strictSame(await store.verify(), [])
})

await t.test('a node that cannot renew its lease places no holds until it can', async t => {
  const url = await server.createDatabase()
  const proxy = await startCuttingProxy(t, server.port)
  const through = url.replace(`:${server.port}/`, `:${proxy.port}/`)
  const here = await openNode(t, url, { leaseMs: 2000 })
  const there = await openNode(t, `${through}?application_name=there`, { leaseMs: 2000 })
  const account = await accountWith(here, 5)
  const early = await holdOf(there, account, 1)
  await there.ledger.release(early)
  // The listening connection is closed, no new one can be opened, and the writing one stays.
  proxy.shut(true)
  await inDatabase(url, client =>
    client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'there' AND query NOT LIKE '%apply_operations%'`,
    ),
  )
  const isRefused = async (): Promise<boolean> => {
    try {
      await there.ledger.release(await holdOf(there, account, 0))
      return false
    } catch (error) {
      if (error instanceof LedgerUnavailableError) return true
      throw error
    }
  }
  await until(isRefused)
  proxy.shut(false)
  await until(async () => !(await isRefused()))
  t.strictSame(await here.verify(), [])
})

await t.test('a revocation committed after many later changes reaches other nodes', async t => {
  const url = await server.createDatabase()
  const here = await openNode(t, url)
  const there = await openNode(t, url)
  const account = await accountWith(here, 0)
  const { id, key } = await here.accounts.createKey({ accountId: account })
  await inDatabase(url, async client => {
    await client.query('BEGIN')
    await client.query('UPDATE keys SET revoked_at = 5 WHERE id = $1', [id])
    await inDatabase(url, other =>
      other.query(
        `INSERT INTO keys (id, account_id, digest, name, last_four, created_at)
         SELECT 'k' || n, $1, 'd' || n, 'n', 'four', 0 FROM generate_series(1, 200) AS n`,
        [account],
      ),
    )
    await until(() => there.keys.findById('k200') !== undefined)
    await client.query('COMMIT')
  })
  await until(() => there.keys.findByDigest(keyDigest(key))?.revokedAt === 5, 3000)
  t.pass('the key is revoked')
})

await t.test('a charge is booked even if the database has lost its hold', async t => {
  const url = await server.createDatabase()
  const store = await openNode(t, url)
  const account = await accountWith(store, 10)
  const hold = await holdOf(store, account, 4)
  await inDatabase(url, async client => {
    await client.query('ALTER TABLE holds DISABLE TRIGGER holds_stay')
    await client.query('BEGIN')
    await client.query('DELETE FROM holds')
    await client.query('UPDATE accounts SET held_micros = 0, worst_micros = 0 WHERE id = $1', [account])
    await client.query('COMMIT')
  })
  t.match(await store.ledger.charge(hold, chargeOf({ input: 3 })), { amountMicros: roubles(3) })
  t.match(await store.ledger.balance(account), { balanceMicros: roubles(7), heldMicros: 0 })
  t.strictSame(await store.verify(), [])
})

await t.test('serializable isolation of the database causes no refusals', async t => {
  const url = await server.createDatabase()
  await inDatabase(url, client =>
    client.query(
      `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_isolation = 'serializable'`,
    ),
  )
  const nodes = [await openNode(t, url), await openNode(t, url)] as const
  const account = await accountWith(nodes[0], 7.5)
  const results = await Promise.allSettled(
    Array.from({ length: 300 }, async (_, index) => {
      await delay(index % 50)
      const node = nodes[index % 2] ?? nodes[0]
      return await node.ledger.charge(await holdOf(node, account, 1), chargeOf({ input: 1 }))
    }),
  )
  const refusals = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
  t.strictSame(
    refusals.filter(reason => !(reason instanceof BalanceInsufficientError)),
    [],
  )
  t.equal(refusals.length, 293)
  t.strictSame(await nodes[1].verify(), [])
})

await t.test('a node closes even if its database no longer responds', async t => {
  const url = await server.createDatabase()
  const proxy = await startCuttingProxy(t, server.port)
  const store = await openNode(t, url.replace(`:${server.port}/`, `:${proxy.port}/`))
  const account = await accountWith(store, 1)
  await holdOf(store, account, 1)
  proxy.freeze()
  const ended = store.close().then(() => 'ended')
  t.equal(await Promise.race([ended, delay(40_000, 'hangs', { ref: false })]), 'ended')
})
