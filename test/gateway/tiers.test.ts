import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { somebodyAt } from '../fixtures/somebody-at.ts'

const usage = { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 }
const priority = JSON.stringify({
  object: 'chat.completion',
  model: 'm',
  service_tier: 'priority',
  choices: [{ message: { content: 'x' } }],
  usage,
})

/** A request for 100 tokens holds a little more than 0.1 roubles, and twice that in a more expensive tier. */
async function start(
  t: Test,
  rub: number,
  answer?: Buffer,
  document = priority,
  {
    like,
    factors = { flex: '0.5', priority: '2', fast: '2', us: '1.1' },
    headers = [],
  }: {
    readonly like?: string
    readonly factors?: Readonly<Record<string, string>>
    readonly headers?: readonly string[]
  } = {},
) {
  const upstream = await startRawUpstream(t, () =>
    answer === undefined
      ? plainAnswer(200, ['content-type', 'application/json', ...headers], document)
      : {
          pieces: [
            headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
            ...chunked([answer]),
          ],
        },
  )
  const gateway = await startTestGateway(t, {
    rub,
    config: {
      // The worst cost of a tier decides, not the usual cost of such requests.
      hold: { riskRub: '0', riskOfPaid: '0' },
      providers: {
        somebody: {
          ...(somebodyAt(upstream.origin)['somebody'] as object),
          ...(like !== undefined && { like }),
        },
      },
      models: {
        m: {
          provider: 'somebody',
          outputTokensMax: 100,
          rubPerMillion: { input: '1', output: '1000' },
          rubPerUnit: { searches: '1' },
          factors,
        },
      },
    },
  })
  const ask = (path: string, body: object, more: readonly string[] = []) =>
    send(gateway.url + path, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json', ...more],
      body: JSON.stringify(body),
    })
  return { upstream, gateway, ask }
}

const chat = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }

await t.test('a more expensive tier is held for at its factor, in every form', async t => {
  const { upstream, gateway, ask } = await start(t, 0.15)
  for (const [path, body] of [
    ['/v1/chat/completions', { ...chat, service_tier: 'priority' }],
    ['/v1/chat/completions', { ...chat, service_tier: 'fast' }],
    ['/v1/chat/completions', { ...chat, service_tier: 'a-new-one' }],
    // With auto the provider chooses.
    ['/v1/chat/completions', { ...chat, service_tier: 'auto' }],
    ['/v1/completions', { model: 'm', prompt: 'Hi', service_tier: 'priority' }],
    ['/v1/responses', { model: 'm', input: 'Hi', service_tier: 'priority' }],
    ['/v1/messages', { ...chat, max_tokens: 100, speed: 'fast' }],
    ['/v1beta/models/m:generateContent', { contents: [], serviceTier: 'SERVICE_TIER_PRIORITY' }],
    ['/v1beta/models/m:generateContent', { contents: [], service_tier: 'priority' }],
    ['/v1beta/interactions', { model: 'm', input: 'Hi', service_tier: 'priority' }],
    ['/somebody/v1/things', { model: 'm', service_tier: 'priority' }],
  ] as const) {
    t.equal((await ask(path, body)).status, 402, `${path} ${JSON.stringify(body)}`)
  }
  t.equal(upstream.requests.length, 0)
  t.same(await gateway.charges(), [])
})

const vertex = ['x-vertex-ai-llm-shared-request-type', 'priority']
const generate = '/v1beta/models/m:generateContent'

await t.test('a tier requested by a header is held for too', async t => {
  const { upstream, ask } = await start(t, 0.15)
  t.equal((await ask(generate, { contents: [] }, vertex)).status, 402)
  t.equal(
    (await ask(generate, { contents: [] }, ['x-vertex-ai-llm-shared-request-type', 'flex'])).status,
    200,
  )
  t.equal(upstream.requests.length, 1)
})

await t.test('a more expensive tier without a factor is refused where its provider serves it', async t => {
  for (const [like, path, body, more, param] of [
    ['openai', '/v1/chat/completions', { ...chat, service_tier: 'priority' }, [], 'service_tier'],
    ['openai', '/v1/responses', { model: 'm', input: 'Hi', service_tier: 'priority' }, [], 'service_tier'],
    ['anthropic', '/v1/messages', { ...chat, max_tokens: 9, speed: 'fast' }, [], 'speed'],
    ['anthropic', '/v1/messages', { ...chat, max_tokens: 9, speed: 'ultra' }, [], 'speed'],
    ['google', generate, { contents: [], serviceTier: 'SERVICE_TIER_PRIORITY' }, [], 'service_tier'],
    ['google', generate, { contents: [] }, vertex, 'service_tier'],
    ['openai', '/v1/chat/completions', { ...chat, service_tier: 'fast' }, [], 'service_tier'],
    // A tier that the gateway does not know.
    ['openai', '/v1/responses', { model: 'm', input: 'Hi', service_tier: 'ultrafast' }, [], 'service_tier'],
    ['xai', '/v1/chat/completions', { ...chat, service_tier: 'priority' }, [], 'service_tier'],
    ['openrouter', '/v1/chat/completions', { ...chat, service_tier: 'priority' }, [], 'service_tier'],
    ['fireworks', '/v1/chat/completions', { ...chat, service_tier: 'priority' }, [], 'service_tier'],
    ['fireworks', '/v1/messages', { ...chat, max_tokens: 9, service_tier: 'priority' }, [], 'service_tier'],
    ['fireworks', '/somebody/v1/things', { model: 'm', service_tier: 'priority' }, [], 'service_tier'],
  ] as const) {
    const { upstream, gateway, ask } = await start(t, 10, undefined, priority, {
      like,
      factors: { flex: '0.5' },
    })
    const refused = await ask(path, body, more)
    t.equal(refused.status, 501, path)
    t.match(refused.body.toString(), /has no price for this model here/)
    if (like !== 'google')
      t.match(JSON.parse(refused.body.toString()), { error: path.endsWith('/messages') ? {} : { param } })
    t.equal(upstream.requests.length, 0)
    t.same(await gateway.charges(), [])
  }
  const { ask } = await start(t, 10, undefined, priority, { like: 'openai', factors: {} })
  for (const tier of ['default', 'auto', 'flex', 'scale', 'standard'])
    t.equal((await ask('/v1/chat/completions', { ...chat, service_tier: tier })).status, 200, tier)
})

await t.test('a tier that is no more expensive is held for at the usual price', async t => {
  for (const wanted of [{}, { service_tier: null }, { service_tier: 'default' }, { service_tier: 'flex' }]) {
    const { ask } = await start(t, 0.15)
    t.equal((await ask('/v1/chat/completions', { ...chat, ...wanted })).status, 200, JSON.stringify(wanted))
  }
})

await t.test('of five concurrent priority requests on a balance for one, one is forwarded', async t => {
  const { gateway, ask } = await start(t, 0.25)
  const body = { ...chat, service_tier: 'priority' }
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask('/v1/chat/completions', body)))
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  const charges = await gateway.charges()
  t.same(
    charges.map(({ amount, flags }) => [amount, flags]),
    [['0.200020', []]],
  )
  t.same(await gateway.breaches(), [])
})

await t.test('a response without usage is estimated at the tier that it names', async t => {
  const event = {
    object: 'chat.completion.chunk',
    choices: [{ delta: { content: 'Words. '.repeat(40) } }],
  }
  for (const [tier, factor] of [
    ['flex', 0.5],
    ['default', 1],
    ['priority', 2],
  ] as const) {
    const bytes = Buffer.from(`data: ${JSON.stringify({ ...event, service_tier: tier })}\n\ndata: [DONE]\n\n`)
    const { gateway, ask } = await start(t, 10, bytes)
    const { status, requestId } = await ask('/v1/chat/completions', { ...chat, stream: true })
    t.equal(status, 200)
    const charge = await gateway.chargeOf(requestId)
    t.equal(charge?.usageSource, 'estimated')
    const { input = 0, output = 0 } = charge?.usage ?? {}
    const expected = ((input + output * 1000) / 1_000_000) * factor
    t.ok(output > 50 && Math.abs(Number(charge?.amount) - expected) < 0.000002, `${tier}: ${charge?.amount}`)
  }
})

await t.test(
  'a request bound to one country is held for and charged at its factor, beside that of the tier',
  async t => {
    const message = (more: object): string =>
      JSON.stringify({
        type: 'message',
        model: 'm',
        content: [{ type: 'text', text: 'x' }],
        usage: {
          input_tokens: 0,
          output_tokens: 100,
          service_tier: 'standard',
          inference_geo: 'us',
          ...more,
        },
      })
    const body = { ...chat, max_tokens: 100, inference_geo: 'us' }
    const poor = await start(t, 0.105)
    t.equal((await poor.ask('/v1/messages', body)).status, 402)
    t.equal((await poor.ask('/v1/messages', { ...body, inference_geo: 'global' })).status, 200)
    for (const [wanted, more, rub, amount] of [
      [{}, {}, 0.15, '0.110000'],
      [{ speed: 'fast' }, { speed: 'fast' }, 0.25, '0.220000'],
    ] as const) {
      const { ask, gateway } = await start(t, rub, undefined, message(more))
      const { status, requestId } = await ask('/v1/messages', { ...body, ...wanted })
      t.equal(status, 200)
      t.match(await gateway.chargeOf(requestId), { amount, flags: [] })
      t.same(await gateway.breaches(), [])
    }
  },
)

await t.test('searches cost the same in every tier', async t => {
  for (const [tier, expected] of [
    ['flex', '2.050005'],
    ['default', '2.100010'],
    ['priority', '2.200020'],
  ] as const) {
    const document = JSON.stringify({
      ...JSON.parse(priority),
      service_tier: tier,
      usage: { ...usage, num_search_queries: 2 },
    })
    const { gateway, ask } = await start(t, 10, undefined, document)
    const { requestId } = await ask('/v1/chat/completions', { ...chat, service_tier: tier })
    t.match(await gateway.chargeOf(requestId), { amount: expected, flags: [], usage: { searches: 2 } }, tier)
    t.same(await gateway.breaches(), [])
  }
  const used = { input_tokens: 0, output_tokens: 100, inference_geo: 'us', speed: 'fast' }
  const document = JSON.stringify({
    type: 'message',
    model: 'm',
    content: [{ type: 'text', text: 'x' }],
    usage: { ...used, server_tool_use: { web_search_requests: 3 } },
  })
  const { gateway, ask } = await start(t, 10, undefined, document)
  const { requestId } = await ask('/v1/messages', { ...chat, max_tokens: 100, speed: 'fast' })
  t.match(await gateway.chargeOf(requestId), { amount: '3.220000', flags: [], usage: { searches: 3 } })
})

const chatOf = (tier: object): string =>
  JSON.stringify({ ...JSON.parse(priority), service_tier: null, ...tier })
const responseOf = (tier: object): string =>
  JSON.stringify({
    object: 'response',
    model: 'm',
    status: 'completed',
    output: [],
    usage: { input_tokens: 10, output_tokens: 100, total_tokens: 110 },
    ...tier,
  })
const contentOf = (tier: object): string =>
  JSON.stringify({
    candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 100, totalTokenCount: 110, ...tier },
  })
const interactionOf = (tier: object): string =>
  JSON.stringify({
    id: 'i',
    status: 'completed',
    usage: { total_input_tokens: 10, total_output_tokens: 100, total_tokens: 110 },
    ...tier,
  })
const messageOf = (usage: object): string =>
  JSON.stringify({
    type: 'message',
    model: 'm',
    content: [{ type: 'text', text: 'x' }],
    usage: { input_tokens: 10, output_tokens: 100, ...usage },
  })
const asksPriority = { service_tier: 'priority' }
const asksFlex = { service_tier: 'flex' }
const inChat = '/v1/chat/completions'

await t.test('a tier that the response does not name is charged as requested', async t => {
  for (const [like, path, body, document, factor] of [
    ['fireworks', inChat, { ...chat, ...asksPriority }, chatOf({}), 2],
    ['fireworks', '/v1/completions', { model: 'm', prompt: 'Hi', ...asksPriority }, chatOf({}), 2],
    ['fireworks', '/v1/messages', { ...chat, max_tokens: 100, ...asksPriority }, messageOf({}), 2],
    ['fireworks', '/somebody/v1/things', { model: 'm', ...asksPriority }, chatOf({}), 2],
    ['anthropic', '/v1/messages', { ...chat, max_tokens: 100, speed: 'fast' }, messageOf({}), 2],
    ['google', inChat, { ...chat, ...asksPriority }, chatOf({}), 2],
    ['google', generate, { contents: [], serviceTier: 'SERVICE_TIER_PRIORITY' }, contentOf({}), 2],
    ['google', '/v1beta/interactions', { model: 'm', input: 'Hi', ...asksPriority }, interactionOf({}), 2],
    ['openai', '/v1/responses', { model: 'm', input: 'Hi', ...asksPriority }, responseOf({}), 2],
    // The tier that the response names is the one that was served.
    ['fireworks', inChat, { ...chat, ...asksPriority }, chatOf({ service_tier: 'default' }), 1],
    [
      'anthropic',
      '/v1/messages',
      { ...chat, max_tokens: 100, speed: 'fast' },
      messageOf({ speed: 'standard' }),
      1,
    ],
    ['google', generate, { contents: [], ...asksPriority }, contentOf({ serviceTier: 'standard' }), 1],
    [
      'google',
      '/v1beta/interactions',
      { model: 'm', input: 'Hi', ...asksPriority },
      interactionOf({ service_tier: 'standard' }),
      1,
    ],
    // A request for a lower-priced tier may not get it, and some providers have no tiers.
    ['fireworks', inChat, { ...chat, ...asksFlex }, chatOf({}), 1],
    ['google', generate, { contents: [], ...asksFlex }, contentOf({}), 1],
    ['mistral', inChat, { ...chat, ...asksPriority }, chatOf({}), 1],
    ['openai', inChat, { ...chat, service_tier: 'auto' }, chatOf({}), 1],
  ] as const) {
    const { gateway, ask } = await start(t, 10, undefined, document, { like })
    const { status, requestId } = await ask(path, body)
    t.equal(status, 200, `${like} ${path}`)
    const charge = await gateway.chargeOf(requestId)
    t.equal(Number(charge?.amount), 0.10001 * factor, `${like} ${path} ${JSON.stringify(body)}`)
    t.same(await gateway.breaches(), [])
  }
})

await t.test("Google's header determines the served tier where the body does not", async t => {
  for (const [served, factor] of [
    ['standard', 1],
    ['priority', 2],
  ] as const) {
    const { gateway, ask } = await start(t, 10, undefined, contentOf({}), {
      like: 'google',
      headers: ['x-gemini-service-tier', served],
    })
    const { requestId } = await ask(generate, { contents: [], ...asksPriority })
    t.equal(Number((await gateway.chargeOf(requestId))?.amount), 0.10001 * factor, served)
  }
})

await t.test("OpenAI's fast tier is another name of its priority tier", async t => {
  const factors = { flex: '0.5', priority: '2' }
  for (const [tier, served] of [
    ['fast', 'fast'],
    ['fast', 'priority'],
    ['priority', 'fast'],
  ]) {
    const { gateway, ask } = await start(t, 10, undefined, chatOf({ service_tier: served }), {
      like: 'openai',
      factors,
    })
    const { status, requestId } = await ask(inChat, { ...chat, service_tier: tier })
    t.equal(status, 200, `${tier} ${served}`)
    t.match(await gateway.chargeOf(requestId), { amount: '0.200020', flags: [] }, `${tier} ${served}`)
    t.same(await gateway.breaches(), [])
  }
})
