import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import t from 'tap'
import { keyDigest } from '../../../lib/accounts/key-value.ts'
import { BalanceInsufficientError } from '../../../lib/ledger/ledger.ts'
import { openPostgresReports } from '../../../lib/stores/postgres-reports.ts'
import { systemClock } from '../../../lib/clock.ts'
import { accountWith, chargeOf, holdOf, roubles } from '../../contracts/store-under-test.ts'
import type { StoreUnderTest } from '../../contracts/store-under-test.ts'
import { startCuttingProxy } from '../../fixtures/cutting-proxy.ts'
import { startPostgres } from '../../fixtures/postgres-server.ts'
import { until } from '../../fixtures/until.ts'
import { openNode } from './open-postgres.ts'

const server = await startPostgres(t)

async function openNodes(
  t: Parameters<typeof openNode>[0],
  url: string,
): Promise<readonly [StoreUnderTest, StoreUnderTest, StoreUnderTest]> {
  return Promise.all([openNode(t, url), openNode(t, url), openNode(t, url)])
}

async function inDatabase(url: string, run: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client(url)
  await client.connect()
  try {
    await run(client)
  } finally {
    await client.end()
  }
}

await t.test('nodes may start on an empty database at once; one of them makes the store', async t => {
  const nodes = await openNodes(t, await server.createDatabase())
  t.equal(nodes.filter(node => node.isNew).length, 1)
})

await t.test('of 500 holds at once on three nodes, money for 7 admits exactly 7', async t => {
  const nodes = await openNodes(t, await server.createDatabase())
  const account = await accountWith(nodes[0], 7.5)
  const results = await Promise.allSettled(
    Array.from({ length: 500 }, (_, index) => holdOf(nodes[index % 3] ?? nodes[0], account, 1)),
  )
  const admitted = results.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
  t.equal(admitted.length, 7)
  for (const result of results) {
    if (result.status === 'rejected' && !(result.reason instanceof BalanceInsufficientError))
      throw result.reason
  }
  t.equal((await nodes[1].ledger.balance(account)).availableMicros, roubles(0.5))
  t.strictSame(await nodes[2].verify(), [])
})

await t.test('three nodes that spend from the same accounts never overspend and lose nothing', async t => {
  const nodes = await openNodes(t, await server.createDatabase())
  const accounts = await Promise.all([30, 30, 30, 30].map(amount => accountWith(nodes[0], amount)))
  let paid = 0
  let refused = 0
  const spend = async (node: StoreUnderTest, turn: number): Promise<void> => {
    const account = accounts[turn % accounts.length] ?? ''
    try {
      const hold = await holdOf(node, account, 1)
      if (turn % 7 === 0) await node.ledger.release(hold)
      // Some cost more than they hold.
      else {
        const { amountMicros } = await node.ledger.charge(hold, chargeOf({ input: turn % 3 }))
        paid += amountMicros
      }
    } catch (error) {
      if (!(error instanceof BalanceInsufficientError)) throw error
      refused += 1
    }
  }
  await Promise.all(
    nodes.map(async node => {
      for (let round = 0; round < 8; round += 1) {
        await Promise.all(Array.from({ length: 24 }, (_, index) => spend(node, round * 24 + index)))
      }
    }),
  )
  // Each node's last releases are on their way.
  for (const node of nodes) await node.ledger.balance(accounts[0] ?? '')
  const left = await Promise.all(accounts.map(account => nodes[1].ledger.balance(account)))
  t.equal(left.reduce((sum, { balanceMicros }) => sum + balanceMicros, 0) + paid, roubles(120))
  t.equal(
    left.reduce((sum, { heldMicros }) => sum + heldMicros, 0),
    0,
  )
  t.ok(left.every(({ balanceMicros }) => balanceMicros >= 0))
  t.ok(refused > 0, 'the money ran out')
  t.strictSame(await nodes[2].verify(), [])
})

await t.test('a new key, its revocation and money are known to other nodes within a second', async t => {
  const [here, there] = await openNodes(t, await server.createDatabase())
  const account = await accountWith(here, 0)
  await t.rejects(holdOf(there, account, 1), BalanceInsufficientError)
  await here.accounts.credit({ accountId: account, amountMicros: roubles(1), reason: 'test' })
  await there.ledger.release(await holdOf(there, account, 1))

  const { id, key } = await here.accounts.createKey({ accountId: account, models: ['m'] })
  await until(() => there.keys.findByDigest(keyDigest(key)) !== undefined, 1000)
  t.match(there.keys.findByDigest(keyDigest(key)), { id, models: ['m'] })
  await here.accounts.revokeKey(id)
  await until(() => there.keys.findByDigest(keyDigest(key))?.revokedAt !== undefined, 1000)
  t.type(here.keys.findByDigest(keyDigest(key))?.revokedAt, 'number')
})

await t.test('a change that is never announced is noticed within a second', async t => {
  const url = await server.createDatabase()
  const [here, there] = await openNodes(t, url)
  const account = await accountWith(here, 0)
  const { id, key } = await here.accounts.createKey({ accountId: account })
  await until(() => there.keys.findByDigest(keyDigest(key)) !== undefined, 1000)
  await inDatabase(url, async client => {
    await client.query('ALTER TABLE keys DISABLE TRIGGER keys_are_announced')
    await client.query(`UPDATE keys SET revoked_at = 5, version = nextval('key_versions') WHERE id = $1`, [
      id,
    ])
  })
  await until(() => there.keys.findByDigest(keyDigest(key))?.revokedAt === 5, 1000)
})

await t.test('the holds of a node that is gone are given back, not those of one that lives', async t => {
  const url = await server.createDatabase()
  const proxy = await startCuttingProxy(t, server.port)
  const through = url.replace(`:${server.port}/`, `:${proxy.port}/`)
  const here = await openNode(t, url, { leaseMs: 600 })
  const there = await openNode(t, through, { leaseMs: 600 })
  const account = await accountWith(here, 10)
  await holdOf(here, account, 1)
  const cutOff = await holdOf(there, account, 3)
  await delay(900)
  t.equal((await here.ledger.balance(account)).heldMicros, roubles(4), 'both live')
  proxy.block(true)
  await until(async () => (await here.ledger.balance(account)).heldMicros === roubles(1))
  t.strictSame(await here.verify(), [])
  proxy.block(false)
  t.strictSame(
    await there.ledger.charge(cutOff, chargeOf({ input: 2 })),
    { amountMicros: roubles(2), overrunMicros: 0 },
    'it was not gone after all, and what it used is owed',
  )
  t.equal((await here.ledger.balance(account)).balanceMicros, roubles(8))
  t.strictSame(await here.verify(), [])
})

await t.test('holds are given back a day after nobody has resolved them, by any node', async t => {
  const url = await server.createDatabase()
  let now = Date.parse('2026-05-05T00:00:00Z')
  const clock = { now: () => now }
  const here = await openNode(t, url, { clock })
  const there = await openNode(t, url, { clock })
  const account = await accountWith(here, 10)
  await holdOf(here, account, 4)
  now += 23 * 3_600_000
  await holdOf(here, account, 1)
  t.equal(await there.expireHolds(), 0)
  now += 3_600_000
  t.equal(await there.expireHolds(), 1)
  t.equal((await here.ledger.balance(account)).heldMicros, roubles(1))
  t.strictSame(await here.verify(), [])
})

await t.test('a database of a newer program is refused', async t => {
  const url = await server.createDatabase()
  await (await openNode(t, url)).close()
  await inDatabase(url, client => client.query('UPDATE gateway_schema SET version = 99'))
  await t.rejects(openNode(t, url), { name: 'StoreError', message: /schema version 99 .* newer release/ })
  await t.rejects(openPostgresReports(url, systemClock), { name: 'StoreError', message: /newer release/ })
})

await t.test('a database without a store, or none, is an error that says so', async t => {
  const url = await server.createDatabase()
  await t.rejects(openPostgresReports(url, systemClock), {
    name: 'StoreError',
    message: /no store.*account create/,
  })
  const nowhere = `${url}_that_is_not_there`
  await t.rejects(openPostgresReports(nowhere, systemClock), {
    name: 'StoreError',
    message: /does not exist/,
  })
  const [refused] = await Promise.allSettled([openNode(t, 'postgres://u:secret@127.0.0.1:1/x')])
  const reason = refused.status === 'rejected' ? refused.reason : undefined
  t.match(reason, { name: 'StoreError', message: /database x on 127.0.0.1:1 cannot be opened.*ECONNREFUSED/ })
  t.notMatch(String(reason), /secret/)
})

await t.test('charges, entries and holds cannot be changed or deleted', async t => {
  const url = await server.createDatabase()
  const store = await openNode(t, url)
  const account = await accountWith(store, 10)
  await store.ledger.charge(await holdOf(store, account, 4), chargeOf({ input: 3 }))
  await inDatabase(url, async client => {
    for (const table of ['charges', 'entries']) {
      await t.rejects(client.query(`UPDATE ${table} SET amount_micros = 1`), /append-only/)
      await t.rejects(client.query(`DELETE FROM ${table}`), /append-only/)
      await t.rejects(client.query(`TRUNCATE ${table}`), /append-only/)
    }
    await t.rejects(client.query('DELETE FROM holds'), /not deleted/)
    await t.rejects(client.query('UPDATE accounts SET held_micros = 8000000'), /never_overspent/)
  })
  t.strictSame(await store.verify(), [])
})

await t.test('a hold that was given up before it arrived cannot arrive any more', async t => {
  const url = await server.createDatabase()
  const store = await openNode(t, url)
  const account = await accountWith(store, 10)
  const hold = { account, exchange: 'late', sequence: 0, key: 'key', at: 1, owner: 'node', expires: 2 }
  await inDatabase(url, async client => {
    const apply = async (operation: object): Promise<unknown> => {
      const { rows } = await client.query('SELECT ending FROM apply_operations($1)', [
        JSON.stringify([{ i: 0, ...hold, ...operation }]),
      ])
      return rows
    }
    await apply({ kind: 'abandon', amount: 0, state: 'released' })
    t.strictSame(await apply({ kind: 'hold', amount: 5 }), [{ ending: 'hold_exists' }])
  })
  t.equal((await store.ledger.balance(account)).heldMicros, 0)
  t.strictSame(await store.verify(), [])
})

await t.test('text that the database cannot hold is stored without what it cannot hold', async t => {
  const store = await openNode(t, await server.createDatabase())
  const account = await accountWith(store, 10)
  const odd = 'a\0b\ud800c'
  await store.ledger.charge(
    await holdOf(store, account, 4),
    chargeOf({ input: 3 }, { model: odd, rawUsage: odd }),
  )
  t.match(await store.charges(account), [{ model: 'a\ufffdb\ufffdc', amount: '3.000000' }])
})

await t.test('thousands of exchanges share commits', async t => {
  const store = await openNode(t, await server.createDatabase())
  const accounts = await Promise.all(Array.from({ length: 16 }, () => accountWith(store, 10_000)))
  const clients = 256
  const each = 16
  const began = performance.now()
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let count = 0; count < each; count += 1) {
        const hold = await holdOf(store, accounts[client % 16] ?? '', 1)
        await store.ledger.charge(hold, chargeOf({ input: 1 }))
      }
    }),
  )
  const seconds = (performance.now() - began) / 1000
  t.comment(`${Math.round((clients * each) / seconds)} durable holds and charges a second`)
  t.strictSame(await store.verify(), [])
})
