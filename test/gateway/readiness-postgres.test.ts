import t from 'tap'
import type { Test } from 'tap'
import { openRecordReader } from '../../lib/stores/open-store.ts'
import { startCuttingProxy } from '../fixtures/cutting-proxy.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

const server = await startPostgres(t)

/** A node without traffic, and its responses to balancers and Prometheus. */
async function startIdleNode(t: Test, store: string) {
  const test = await startTestGateway(t, {
    config: {
      store,
      admin: { listen: { host: '127.0.0.1', port: 0 } },
      providers: { sandbox: {} },
      models: { 'sandbox-chat': { provider: 'sandbox', rubPerMillion: { input: '100', output: '200' } } },
    },
  })
  const ready = async () => {
    const response = await fetch(`${test.gateway.adminUrl}/readyz`)
    return { status: response.status, body: (await response.json()) as object }
  }
  return {
    breaches: () => test.breaches(),
    ready,
    becomes: (status: number, timeoutMs: number) =>
      until(async () => (await ready()).status === status, timeoutMs),
    async storeUp() {
      const text = await (await fetch(`${test.gateway.adminUrl}/metrics`)).text()
      return /^gateway_store_up (\d)$/m.exec(text)?.[1]
    },
    /** The alarms of the store that were raised, in their order. */
    alarms: () => test.logLines.flatMap(line => /"alarm":"(store_\w+)"/.exec(line)?.[1] ?? []),
    /** The alarms in the store, with their states. */
    async alarmRows() {
      const reader = await openRecordReader({ kind: 'postgres', url: store })
      const rows = await reader.all(reader.build.selectFrom('alarms').select(['kind', 'state', 'count']))
      await reader.close()
      return rows
    },
  }
}

/** A few seconds, on a machine that is busy with other tests. */
const awayMs = 10_000

const good = { status: 200, body: { status: 'ok' } }
const bad = { status: 503, body: { status: 'the store cannot be written' } }

await t.test('an idle node whose database is stopped is not ready until the database is back', async t => {
  const node = await startIdleNode(t, await server.createDatabase())
  t.same(await node.ready(), good)
  t.equal(await node.storeUp(), '1')

  await server.stop()
  await node.becomes(503, awayMs)
  t.same(await node.ready(), bad)
  t.equal(await node.storeUp(), '0')
  await until(() => node.alarms().length > 0, awayMs)
  t.same(node.alarms(), ['store_unavailable'], 'raised without any request')

  await server.start()
  await node.becomes(200, awayMs)
  t.same(await node.ready(), good)
  t.equal(await node.storeUp(), '1')
  await until(() => node.alarms().length > 1, awayMs)
  t.same(node.alarms(), ['store_unavailable', 'store_available'])
  const closed = [{ kind: 'store_unavailable', state: 'closed', count: 1 }]
  await until(async () => (await node.alarmRows()).some(({ state }) => state === 'closed'))
  t.same(await node.alarmRows(), closed)
  t.same(await node.breaches(), [])
})

await t.test('an idle node whose database stops responding is not ready', async t => {
  const proxy = await startCuttingProxy(t, server.port)
  const database = await server.createDatabase()
  const node = await startIdleNode(t, database.replace(`:${server.port}/`, `:${proxy.port}/`))
  t.same(await node.ready(), good)

  proxy.freeze()
  await node.becomes(503, awayMs)
  const probes = await Promise.all(Array.from({ length: 100 }, () => node.ready()))
  t.same(
    probes,
    probes.map(() => bad),
    'no probe waits for the database',
  )
  t.equal(await node.storeUp(), '0')
  await until(() => node.alarms().length > 0, awayMs)
  t.same(node.alarms(), ['store_unavailable'])
})

await t.test('an idle node stays ready while its connections break and are reopened', async t => {
  const proxy = await startCuttingProxy(t, server.port)
  const database = await server.createDatabase()
  const node = await startIdleNode(t, database.replace(`:${server.port}/`, `:${proxy.port}/`))
  const seen = new Set<number>()

  for (let count = 0; count < 20; count += 1) {
    if (count % 10 === 0) proxy.cutAll()
    seen.add((await node.ready()).status)
    await new Promise(resolve => setTimeout(resolve, 100))
  }

  t.same([...seen], [200])
  t.same(node.alarms(), [])
  t.same(await node.breaches(), [])
})
