import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RateLimitError } from 'openai'
import t, { type Test } from 'tap'
import { loadConfig } from '../../lib/config/load-config.ts'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, exchangeEnds, settled } from '../fixtures/exchange-ends.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import type { RawUpstream } from '../fixtures/raw-upstream.ts'
import { openaiClient } from '../fixtures/sdk-clients.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]

function gatewayWith(
  t: Test,
  origin: string,
  limits: Readonly<Record<string, unknown>>,
): Promise<TestGateway> {
  const plugins = [
    'auth',
    'model-router',
    'size-limit',
    { 'rate-limit': limits },
    'upstream-proxy',
    'usage-tap',
  ]
  return startTestGateway(t, { config: callConfig(origin, { onClientLeft: 'abort' }, { plugins }) })
}

function ask(gateway: TestGateway, call: DialectCall = openai): Promise<ClientAnswer> {
  return send(gateway.url + call.path(false), {
    headers: call.keyHeader(gateway.key),
    body: call.body(false),
  })
}

/** A provider that responds to every request in one dialect. */
function startProvider(t: Test, call: DialectCall): Promise<RawUpstream> {
  return startRawUpstream(t, () => plainAnswer(200, ['content-type', 'application/json'], call.document))
}

for (const call of dialectCalls) {
  await t.test(`${call.name}: of a burst of five more than the limit, exactly five are refused`, async t => {
    const upstream = await startProvider(t, call)
    const gateway = await gatewayWith(t, upstream.origin, { requestsPerMinute: 20 })

    const answers = await Promise.all(Array.from({ length: 25 }, () => ask(gateway, call)))

    const refused = answers.filter(answer => answer.status === 429)
    t.equal(answers.filter(answer => answer.status === 200).length, 20)
    t.equal(refused.length, 5)
    for (const answer of refused) {
      t.match(answer.body.toString(), call.errorBody)
      t.match(answer.body.toString(), 'limit is 20 requests a minute')
      const seconds = Number(answer.headers['retry-after'])
      t.ok(seconds > 50 && seconds <= 60, `retry-after: ${seconds}`)
      t.equal(answer.headers['x-should-retry'], undefined)
    }
    await settled(gateway, 25)
    t.equal(upstream.requests.length, 20)
    t.equal((await gateway.charges()).length, 20, 'refused requests are not charged')
    await checkMoney(t, gateway)
  })
}

await t.test("OpenAI's SDK raises its RateLimitError", async t => {
  const upstream = await startProvider(t, openai)
  const gateway = await gatewayWith(t, upstream.origin, { requestsPerMinute: 1 })
  const client = openaiClient(gateway).withOptions({ maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  await client.chat.completions.create({ model: 'm', messages })

  const error: unknown = await client.chat.completions
    .create({ model: 'm', messages })
    .catch((one: unknown) => one)

  t.ok(error instanceof RateLimitError)
  t.match(error, { status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_error' })
})

await t.test('used tokens count, not reserved ones', async t => {
  const upstream = await startProvider(t, openai)
  // Each request reserves about 150 tokens, and uses 46.
  const gateway = await gatewayWith(t, upstream.origin, { tokensPerMinute: 300 })

  const statuses: number[] = []
  for (let count = 1; count <= 6; count += 1) {
    statuses.push((await ask(gateway)).status)
    await settled(gateway, count)
  }

  t.same(statuses, [200, 200, 200, 200, 429, 429])
  t.match((await ask(gateway)).body.toString(), 'of which 116 are left')
  const free = await send(`${gateway.url}/v1/moderations`, {
    headers: openai.keyHeader(gateway.key),
    body: '{"input":"text"}',
  })
  t.equal(free.status, 200, 'a free request uses no tokens')
  await checkMoney(t, gateway)
})

await t.test('a reload keeps the counts, and a single key can have its own limits', async t => {
  const upstream = await startProvider(t, openai)
  const gateway = await gatewayWith(t, upstream.origin, { requestsPerMinute: 1 })
  const { key: second } = await gateway.accounts.createKey({ accountId: gateway.accountId })
  const one = await ask(gateway)
  const two = await ask(gateway)
  const three = await ask({ ...gateway, key: second })
  t.same([one.status, two.status, three.status], [200, 429, 200], 'each key has its own count')

  const file = join(gateway.folder, 'gateway.yaml')
  const own = `requestsPerMinute: 1\n      keys: { ${gateway.keyId}: { requestsPerMinute: 2 } }`
  writeFileSync(file, readFileSync(file, 'utf8').replace('requestsPerMinute: 1', own))
  await gateway.gateway.reload(loadConfig(file, { env: {} }).config)
  t.equal((await ask(gateway)).status, 200, 'the second of its two')
  t.equal((await ask(gateway)).status, 429)
  t.equal((await ask({ ...gateway, key: second })).status, 429)
})

await t.test('open streams hold slots, which are released however the streams end', async t => {
  const endings = new Set<() => void>()
  const kind = ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked', 'connection', 'close']
  const head = headLines(200, kind)
  const upstream = await startRawUpstream(t, async () => {
    const mayEnd = new Promise<void>(resolve => endings.add(resolve))
    // Every open connection receives the head at once, and the rest when `endings` are called.
    for (const socket of upstream.openSockets) if (socket.bytesWritten === 0) socket.write(head)
    await mayEnd
    return { pieces: chunked([Buffer.from(openai.events.join(''))]), then: 'end' }
  })
  const gateway = await gatewayWith(t, upstream.origin, { concurrentRequests: 2 })
  const [name, value] = openai.keyHeader(gateway.key) as [string, string]
  // Counts ends of exchanges: other streams run meanwhile, and hold money.
  const ended = (count: number) => until(() => exchangeEnds(gateway).length >= count)
  const openStream = async () => {
    const client = await connectRaw(t, gateway.url)
    const body = openai.body(true)
    client.socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\n${name}: ${value}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    return client
  }
  const first = await openStream()
  const second = await openStream()
  await first.waitFor('200 ')
  await second.waitFor('200 ')
  t.match(await ask(gateway), { status: 429, headers: { 'retry-after': '1' } })

  first.socket.resetAndDestroy()
  await ended(2)
  const third = await openStream()
  await third.waitFor('200 ')
  t.equal((await ask(gateway)).status, 429, 'one slot was free, and is used')

  for (const end of endings) end()
  await until(() => third.received().includes('[DONE]') && second.received().includes('[DONE]'))
  await ended(5)
  const fourth = await openStream()
  const fifth = await openStream()
  await fourth.waitFor('200 ')
  await fifth.waitFor('200 ')
  t.equal((await ask(gateway)).status, 429, 'two slots, not three: each was released once')
  for (const socket of upstream.openSockets) socket.resetAndDestroy()
  await ended(8)
  const last = await openStream()
  await last.waitFor('200 ')
  t.pass('a provider that cuts the stream releases them too')
  for (const end of endings) end()
  await settled(gateway, 9)
  t.equal((await gateway.charges()).filter(charge => charge.outcome === 'refused').length, 0)
  await checkMoney(t, gateway)
})

await t.test(
  'without a limit on tokens rate-limit may come before the router, and then lists count too',
  async t => {
    const upstream = await startProvider(t, openai)
    const plugins = [
      'auth',
      { 'rate-limit': { requestsPerMinute: 2 } },
      'model-router',
      'upstream-proxy',
      'usage-tap',
    ]
    const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, { plugins }) })
    const list = () =>
      send(`${gateway.url}/v1/models`, { method: 'GET', headers: openai.keyHeader(gateway.key) })
    t.same([(await list()).status, (await list()).status, (await list()).status], [200, 200, 429])

    const wrong = [
      'auth',
      { 'rate-limit': { tokensPerMinute: 2 } },
      'model-router',
      'upstream-proxy',
      'usage-tap',
    ]
    await t.rejects(startTestGateway(t, { config: callConfig(upstream.origin, {}, { plugins: wrong }) }), {
      message: /rate-limit/,
    })
  },
)
