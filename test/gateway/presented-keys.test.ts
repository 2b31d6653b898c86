import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type ConfigSections } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]
const upstream = await startRawUpstream(t, () =>
  plainAnswer(200, ['content-type', 'application/json'], openai.document),
)
const start = (sections: ConfigSections) =>
  startTestGateway(t, { config: callConfig(upstream.origin, {}, sections) })
const gateway = await start({ trustedProxies: ['127.0.0.1', '10.0.0.0/8'] })

const chat = (headers: readonly string[], query = ''): Promise<number> =>
  send(`${gateway.url}/v1/chat/completions${query}`, { headers, body: openai.body(false) }).then(
    ({ status }) => status,
  )

await t.test('of several keys in one request the first gateway key counts, in any form', async t => {
  const { key } = gateway
  const others: readonly (readonly [what: string, headers: readonly string[], query?: string])[] = [
    ['two x-api-key', ['x-api-key', 'sk-foreign', 'x-api-key', key]],
    ['two x-goog-api-key', ['x-goog-api-key', 'AIza', 'x-goog-api-key', key]],
    ['two ?key=', [], `?key=AIza&key=${key}`],
    ['an Authorization with a foreign key', ['authorization', 'Bearer sk-foreign', 'x-api-key', key]],
    ['Basic, and ?key=', ['authorization', 'Basic Zm9vOmJhcg=='], `?key=${key}`],
    ['an empty one', ['x-api-key', '', 'x-api-key', key]],
  ]
  for (const [what, headers, query] of others) t.equal(await chat(headers, query), 200, what)
  for (const { headers, path } of upstream.requests) {
    t.notMatch(headers.join('\n') + path, /sk-foreign|AIza|gw-/, 'no key of the client is forwarded')
  }
  const wrong = `gw-${'A'.repeat(43)}`
  t.equal(await chat(['x-api-key', wrong, 'x-api-key', key]), 401, 'a gateway key, and unknown')
  t.equal(await chat(['x-api-key', 'sk-one', 'x-api-key', 'sk-two']), 401, 'none is a gateway key')
})

await t.test(
  'the address is read from the headers of our proxies, not from those that a client wrote',
  async t => {
    const { key } = await gateway.accounts.createKey({
      accountId: gateway.accountId,
      ipAddresses: ['203.0.113.0/24'],
    })
    const from = (...forwarded: string[]): Promise<number> =>
      chat(['x-api-key', key, ...forwarded.flatMap(value => ['x-forwarded-for', value])])
    t.equal(await from('203.0.113.7'), 200)
    t.equal(await from('203.0.113.7, 10.0.0.1'), 200, 'one header, extended by our proxy')
    t.equal(await from('203.0.113.7', '10.0.0.1'), 200, 'a second header of our own proxy')
    t.equal(await from('203.0.113.7', '198.51.100.9'), 403, 'the client wrote the first itself')
    t.equal(await from('198.51.100.9', '203.0.113.7'), 200, 'our proxy wrote the second')
    t.equal(await from('203.0.113.7', '198.51.100.9, 10.0.0.1'), 403)
    t.equal(await from(), 403)
  },
)

await t.test(
  'requests for the list of models and for the key itself count toward its rate limit',
  async t => {
    const plugins = [
      'auth',
      'model-router',
      { 'rate-limit': { requestsPerMinute: 3 } },
      'upstream-proxy',
      'usage-tap',
    ]
    const limited = await start({ plugins })
    const headers = ['authorization', `Bearer ${limited.key}`]
    const statuses: number[] = []
    for (const path of [
      '/v1/models',
      '/gateway/v1/balance',
      '/gateway/v1/key',
      '/v1/models',
      '/gateway/v1/key',
    ]) {
      statuses.push((await send(limited.url + path, { method: 'GET', headers })).status)
    }
    t.same(statuses, [200, 200, 200, 429, 429])
  },
)

await t.test('a router before auth keeps the gateway from starting', async t => {
  const plugins = ['model-router', 'auth', 'upstream-proxy', 'usage-tap']
  await t.rejects(start({ plugins }), {
    name: 'PipelineOrderError',
    message: 'Plugin "model-router" needs "key", which "auth" provides: list "auth" before it.',
  })
})
