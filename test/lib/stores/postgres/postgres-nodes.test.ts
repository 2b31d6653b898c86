import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { keyDigest } from '../../../../lib/accounts/memory-key-directory.ts'
import { BalanceInsufficientError } from '../../../../lib/ledger/ledger.ts'
import { accountWith, chargeOf, holdOf, roubles } from '../../../contracts/store-under-test.ts'
import type { StoreUnderTest } from '../../../contracts/store-under-test.ts'
import { startCuttingProxy } from '../../../fixtures/cutting-proxy.ts'
import { inDatabase } from '../../../fixtures/in-database.ts'
import { startPostgres } from '../../../fixtures/postgres-server.ts'
import { plainNode } from '../../../fixtures/process-environment.ts'
import { until } from '../../../fixtures/until.ts'
import { openNode } from './open-postgres.ts'

const server = await startPostgres(t)
const chargeForever = fileURLToPath(new URL('../../../fixtures/charge-forever.ts', import.meta.url))

async function openNodes(
  t: Parameters<typeof openNode>[0],
  url: string,
): Promise<readonly [StoreUnderTest, StoreUnderTest, StoreUnderTest]> {
  return Promise.all([openNode(t, url), openNode(t, url), openNode(t, url)])
}

await t.test('nodes can start on an empty database at once, and one creates the store', async t => {
  const nodes = await openNodes(t, await server.createDatabase())
  t.equal(nodes.filter(node => node.isNew).length, 1)
})

await t.test('of 500 concurrent holds on three nodes, money for 7 admits exactly 7', async t => {
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
  let cost = 0
  let refused = 0
  const spend = async (node: StoreUnderTest, index: number): Promise<void> => {
    const account = accounts[index % accounts.length] ?? ''
    try {
      const hold = await holdOf(node, account, 1)
      if (index % 7 === 0) await node.ledger.release(hold)
      // Some cost more than they hold.
      else {
        await node.ledger.charge(hold, chargeOf({ input: index % 3 }))
        cost += roubles(index % 3)
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
  // Waits for the last releases of each node.
  for (const node of nodes) await node.ledger.balance(accounts[0] ?? '')
  const left = await Promise.all(accounts.map(account => nodes[1].ledger.balance(account)))
  t.equal(
    left.reduce((sum, { balanceMicros, debtMicros }) => sum + balanceMicros - debtMicros, cost),
    roubles(120),
  )
  t.equal(
    left.reduce((sum, { heldMicros }) => sum + heldMicros, 0),
    0,
  )
  t.ok(left.every(({ balanceMicros }) => balanceMicros >= 0))
  t.ok(refused > 0, 'the money ran out')
  t.strictSame(await nodes[2].verify(), [])
})

await t.test('new keys, revocations and credits reach other nodes within a second', async t => {
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

await t.test('a block and its end have reached other nodes when the calls return', async t => {
  const [here, there] = await openNodes(t, await server.createDatabase())
  const accountId = await accountWith(here, 0)
  const keys = await Promise.all([1, 2, 3].map(() => here.accounts.createKey({ accountId })))
  const block = { accountId, isBlocked: true, reason: 'spam', operator: 'olga' }
  const known = () => keys.map(({ key }) => there.keys.findByDigest(keyDigest(key))?.blockedAt)

  const { blockedAt } = await here.accounts.setBlocked(block)
  t.strictSame(known(), [blockedAt, blockedAt, blockedAt])
  await t.rejects(there.accounts.createKey({ accountId }), { code: 'account_blocked' })
  await here.accounts.setBlocked({ ...block, isBlocked: false })
  t.strictSame(known(), [undefined, undefined, undefined])
})

await t.test('a change without a notification is found within a second', async t => {
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

await t.test('holds of a node that is gone are released, and those of a live node are not', async t => {
  const url = await server.createDatabase()
  const proxy = await startCuttingProxy(t, server.port)
  const through = url.replace(`:${server.port}/`, `:${proxy.port}/`)
  const here = await openNode(t, url, { leaseMs: 600 })
  const there = await openNode(t, through, { leaseMs: 600 })
  const account = await accountWith(here, 10)
  await holdOf(here, account, 1)
  const cutOff = await holdOf(there, account, 3)
  await delay(900)
  t.equal((await here.ledger.balance(account)).heldMicros, roubles(4), 'both nodes live')
  proxy.block(true)
  await until(async () => (await here.ledger.balance(account)).heldMicros === roubles(1))
  t.strictSame(await here.verify(), [])
  proxy.block(false)
  t.match(
    await there.ledger.charge(cutOff, chargeOf({ input: 2 })),
    { amountMicros: roubles(2), overrunMicros: 0 },
    'a node that comes back still charges its usage',
  )
  t.equal((await here.ledger.balance(account)).balanceMicros, roubles(8))
  t.strictSame(await here.verify(), [])
})

await t.test('kill -9 of a node loses no acknowledged charge, and its holds are released', async t => {
  const url = await server.createDatabase()
  const here = await openNode(t, url, { leaseMs: 400 })
  const account = await accountWith(here, 10)
  const outputFile = `${t.testdir()}/output`
  const output = openSync(outputFile, 'w')
  const child = spawn('env', [...plainNode, chargeForever, url, account], {
    stdio: ['ignore', output, 'inherit'],
  })
  const closed = once(child, 'close')
  await until(() => readFileSync(outputFile, 'utf8').split('\n').length > 1500)
  child.kill('SIGKILL')
  await closed
  closeSync(output)
  const charged = (await here.charges(account)).map(charge => charge.requestId)
  const acknowledged = readFileSync(outputFile, 'utf8')
    .split('\n')
    .flatMap(line => (line.startsWith('charged ') ? [line.slice('charged '.length)] : []))
  t.strictSame(
    acknowledged.filter(id => !charged.includes(id)),
    [],
  )
  t.equal(new Set(charged).size, charged.length)
  await until(async () => (await here.ledger.balance(account)).heldMicros === 0)
  t.strictSame(await here.verify(), [])
})

await t.test(
  'unresolved holds expire after 24 elapsed hours on any clock, and can still be charged',
  async t => {
    const hourMs = 3_600_000
    const url = await server.createDatabase()
    let ahead = Date.parse('2026-05-05T00:00:00Z')
    let elapsedMs = 0
    const steadyClock = { now: () => elapsedMs }
    const here = await openNode(t, url, { steadyClock })
    const there = await openNode(t, url, { clock: { now: () => ahead }, steadyClock })
    const account = await accountWith(here, 10)
    const old = await holdOf(here, account, 4)
    await holdOf(there, account, 1)
    for (const jumpMs of [hourMs, 48 * hourMs, 365 * 24 * hourMs, -ahead]) {
      ahead += jumpMs
      t.equal(await there.expireHolds(), 0, 'the clock was set, but no time has passed')
    }

    elapsedMs += 23 * hourMs
    const isReconnected = () => holdOf(here, account, 1).then(Boolean, () => false)
    await until(isReconnected)
    t.equal(await here.expireHolds(), 0)
    elapsedMs += hourMs
    t.equal(await here.expireHolds(), 1)
    t.equal((await here.ledger.balance(account)).heldMicros, roubles(2))
    t.match(await here.ledger.charge(old, chargeOf({ input: 3 })), { amountMicros: roubles(3) })
    await t.rejects(here.ledger.charge(old, chargeOf({ input: 1 })), { name: 'HoldResolvedError' })
    t.strictSame(await here.verify(), [])
  },
)
