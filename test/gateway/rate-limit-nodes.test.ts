import t, { type Test } from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { inDatabase } from '../fixtures/in-database.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

const server = await startPostgres(t)
const [openai] = dialectCalls as readonly [DialectCall]

/** Two gateways on one database; the key of the first works on both. */
async function startTwo(
  t: Test,
  limits: object,
  store: string,
): Promise<readonly [TestGateway, TestGateway]> {
  const { origin } = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], openai.document),
  )
  const plugins = ['auth', 'model-router', { 'rate-limit': limits }, 'upstream-proxy', 'usage-tap']
  const config = callConfig(origin, {}, { store, plugins })
  const first = await startTestGateway(t, { config })
  return [first, await startTestGateway(t, { config, beside: first })]
}

function ask({ url, key }: TestGateway): Promise<ClientAnswer> {
  return send(url + openai.path(false), { headers: openai.keyHeader(key), body: openai.body(false) })
}

await t.test('gateways on one database count requests together', async t => {
  const gateways = await startTwo(t, { requestsPerMinute: 11 }, await server.createDatabase())
  const { body } = await send(`${gateways[1].url}/gateway/v1/key`, {
    method: 'GET',
    headers: openai.keyHeader(gateways[1].key),
  })
  t.match(JSON.parse(body.toString()), { rateLimits: { requestsPerMinute: { limit: 11, used: 0 } } })

  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => ask(gateways[index % 2 === 0 ? 0 : 1])),
  )

  t.equal(answers.filter(answer => answer.status === 200).length, 10)
  const refused = answers.filter(answer => answer.status === 429)
  t.equal(refused.length, 10)
  for (const { headers } of refused) t.ok(Number(headers['retry-after']) > 50)
})

await t.test('gateways on one database count used tokens together', async t => {
  // Each request reserves about 150 tokens, and uses 46.
  const [first, second] = await startTwo(t, { tokensPerMinute: 300 }, await server.createDatabase())
  const statuses: number[] = []
  for (const gateway of [first, second, first, second, first, second]) {
    const answer = await ask(gateway)
    statuses.push(answer.status)
    // The unused tokens are released when the exchange ends.
    await until(() =>
      gateway.logLines.some(line => line.includes(answer.requestId) && line.includes('"outcome"')),
    )
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  t.same(statuses, [200, 200, 200, 200, 429, 429])
})

await t.test('a request that cannot be counted is refused with a retry-after, and keeps no slot', async t => {
  const store = await server.createDatabase()
  const [gateway] = await startTwo(t, { requestsPerMinute: 10, concurrentRequests: 1 }, store)
  await inDatabase(store, client => client.query('ALTER TABLE rate_counts RENAME TO gone'))
  t.match(await ask(gateway), { status: 503, headers: { 'retry-after': '1' } })
  await inDatabase(store, client => client.query('ALTER TABLE gone RENAME TO rate_counts'))
  t.equal((await ask(gateway)).status, 200)
})

await t.test(
  'a reload keeps the counts, and closing a gateway closes the connections that count',
  async t => {
    const store = await server.createDatabase()
    const [first, second] = await startTwo(t, { requestsPerMinute: 2 }, store)
    t.equal((await ask(first)).status, 200)
    await first.gateway.reload(loadConfig(first.configFile, { env: {} }).config)
    t.same(
      [(await ask(first)).status, (await ask(first)).status, (await ask(second)).status],
      [200, 429, 429],
    )

    await Promise.all([first.gateway.close(1000), second.gateway.close(1000)])

    await inDatabase(store, async client => {
      const { rows } = await client.query(
        "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%rate_counts%' AND pid <> pg_backend_pid()",
      )
      t.same(rows, [], 'no connection that counted is open')
    })
  },
)
