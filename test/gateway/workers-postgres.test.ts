import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { systemClock } from '../../lib/platform/clock.ts'
import { openStore } from '../../lib/stores/open-store.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { startGatewayProcess } from '../fixtures/gateway-process.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { patientLimits } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const server = await startPostgres(t)

await t.test('on PostgreSQL each worker is a node, and the limits of keys apply across all', async t => {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], openai.document),
  )
  const url = await server.createDatabase()
  const config = join(t.testdir(), 'gateway.yaml')
  const plugins = [
    'auth',
    'model-router',
    { 'rate-limit': { requestsPerMinute: 10 } },
    'upstream-proxy',
    'usage-tap',
  ]
  const sections = callConfig(upstream.origin, {}, { workers: 2, plugins, store: url, listen: { port: 0 } })
  writeFileSync(config, stringify({ ...sections, limits: patientLimits({}) }))
  const gateway = await startGatewayProcess(t, config)
  const store = await openStore(
    { store: { kind: 'postgres', url }, durability: 'strict' },
    { clock: systemClock },
  )
  t.teardown(() => store.close())
  const { id: accountId } = await store.accounts.createAccount({ email: 'client@example.org' })
  await store.accounts.credit({ accountId, amountMicros: 1_000_000_000, reason: 'test' })
  const { key, id } = await store.accounts.createKey({ accountId })
  const ask = (): Promise<ClientAnswer> =>
    send(`${gateway.url}/v1/chat/completions`, { headers: openai.keyHeader(key), body: openai.body(false) })
  const all = (count: number): Promise<ClientAnswer[]> => Promise.all(Array.from({ length: count }, ask))

  // Nodes learn of new keys a moment later; requests that they refuse until then do not count.
  await until(async () => {
    await all(4)
    return (await Array.fromAsync(store.reports.charges(accountId))).length >= 10
  }, 20_000)
  t.equal((await all(4)).filter(({ status }) => status === 429).length, 4, 'ten a minute over both nodes')
  const served =
    /"worker":1,"requestId".*"worker":2,"requestId"|"worker":2,"requestId".*"worker":1,"requestId"/s
  await until(() => served.test(gateway.written()))
  await store.accounts.revokeKey(id)
  await until(async () => (await all(2)).every(({ status }) => status === 401))
  t.strictSame(await store.reports.verify(), [])
})
