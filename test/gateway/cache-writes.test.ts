import t, { type Test } from 'tap'
import { TextDensity } from '../../lib/http/text-density.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const message = JSON.stringify({
  type: 'message',
  model: 'm',
  content: [],
  usage: { input_tokens: 0, cache_creation_input_tokens: 1000, output_tokens: 0 },
})

/** At most a thousand tokens: 1 rouble uncached, 1.25 cached for five minutes, 2 for an hour. */
const words = 'x'.repeat(1500)
const minutes = { cache_control: { type: 'ephemeral' } }
const fiveMinutes = { cache_control: { type: 'ephemeral', ttl: '5m' } }
const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } }

const price = {
  outputTokensMax: 1,
  rubPerMillion: { input: '1000', cacheWrite5m: '1250', cacheWrite1h: '2000', output: '1' },
}

async function start(t: Test, rub: number) {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], message),
  )
  const dialects = {
    openai: { baseUrl: `${upstream.origin}/v1` },
    anthropic: { baseUrl: `${upstream.origin}/v1` },
  }
  const gateway = await startTestGateway(t, {
    rub,
    config: {
      hold: { riskRub: '0', riskOfPaid: '0' },
      providers: { somebody: { credentials: ['c'], dialects, operations: ['/things'] } },
      models: { m: { provider: 'somebody', ...price }, 'gpt-9': { provider: 'somebody', ...price } },
    },
  })
  const ask = (path: string, body: object) =>
    send(gateway.url + path, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify(body),
    })
  return { upstream, gateway, ask }
}

const plain = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: words }] }
const block = { type: 'text', text: words }
const inBlock = (own: object): object => ({
  model: 'm',
  max_tokens: 1,
  messages: [{ role: 'user', content: [{ ...block, ...own }] }],
})
const inResult = {
  model: 'm',
  max_tokens: 1,
  messages: [
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: [{ ...block, ...hour }] }] },
  ],
}

await t.test('a request with cache_control is held for at the price of a cache write', async t => {
  // More than uncached input costs, with room for the body's other bytes, and less than a write for an hour.
  const { upstream, ask, gateway } = await start(t, 1.6)
  for (const [path, body] of [
    ['/v1/messages', inBlock(hour)],
    ['/v1/messages', { ...plain, ...hour }],
    ['/v1/messages', { ...plain, system: [{ type: 'text', text: 'Be brief.', ...hour }] }],
    ['/v1/messages', { ...plain, tools: [{ name: 'f', input_schema: {}, ...hour }] }],
    ['/v1/messages', inResult],
    ['/v1/chat/completions', inBlock(hour)],
    ['/v1/chat/completions', { ...plain, ...hour }],
    ['/v1/chat/completions', { ...plain, messages: [{ ...plain.messages[0], ...hour }] }],
    ['/v1/chat/completions', { ...plain, tools: [{ type: 'function', function: {}, ...hour }] }],
    ['/v1/responses', { model: 'm', max_output_tokens: 1, input: [{ content: [{ ...block, ...hour }] }] }],
    ['/somebody/v1/things', inBlock(hour)],
    ['/v1/messages/batches', { requests: [{ custom_id: 'a', params: inBlock(hour) }] }],
  ] as const) {
    t.equal((await ask(path, body)).status, 402, `${path} ${JSON.stringify(body).replace(words, '')}`)
  }
  t.equal(upstream.requests.length, 0)
  t.same(await gateway.charges(), [])
})

await t.test('a cache write for five minutes is held for at less than one for an hour', async t => {
  for (const own of [minutes, fiveMinutes]) {
    const poor = await start(t, 1.2)
    t.equal((await poor.ask('/v1/messages', inBlock(own))).status, 402)
    const rich = await start(t, 1.6)
    const { status, requestId } = await rich.ask('/v1/messages', inBlock(own))
    t.equal(status, 200)
    t.match(await rich.gateway.chargeOf(requestId), { amount: '1.250000', flags: [] })
  }
})

await t.test('a request without cache_control is held for at the price of input', async t => {
  for (const body of [plain, inBlock({}), { ...plain, cache_control: null }]) {
    const density = new TextDensity()
    density.add(Buffer.from(JSON.stringify(body)))
    // Includes the 64 tokens that a provider may add around the prompt.
    const rub = ((density.tokens.most + 64) * 1000 + 1) / 1_000_000
    const { ask } = await start(t, rub)
    t.equal((await ask('/v1/messages', body)).status, 200)
    const { ask: askWithLess } = await start(t, rub - 0.000001)
    t.equal((await askWithLess('/v1/messages', body)).status, 402)
  }
})

await t.test('of five concurrent requests with a balance for one, one is forwarded', async t => {
  const { gateway, ask } = await start(t, 2.8)
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask('/v1/messages', inBlock(hour))))
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.same(await gateway.breaches(), [])
})

await t.test('a model that caches automatically is held for at the price of a cache write', async t => {
  const { ask } = await start(t, 1.2)
  t.equal((await ask('/v1/chat/completions', { ...plain, model: 'gpt-9' })).status, 402)
  t.equal((await ask('/v1/chat/completions', plain)).status, 200)
})
