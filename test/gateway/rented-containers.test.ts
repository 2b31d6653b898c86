import t, { type Test } from 'tap'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

interface Scenario {
  readonly rub?: number
  readonly like?: string
  readonly answer?: object
  readonly stream?: string
  readonly rubPerUnit?: Readonly<Record<string, string>>
}

const finished = {
  id: 'resp_1',
  object: 'response',
  model: 'm',
  status: 'completed',
  output: [{ id: 'ci_1', type: 'code_interpreter_call', status: 'completed', container_id: 'cntr_1' }],
  usage: { input_tokens: 100, output_tokens: 100, total_tokens: 200 },
}

/** A container is 3 roubles, a search 1, and tokens next to nothing. */
async function start(t: Test, scenario: Scenario = {}) {
  const { rub = 100, like = 'openai', answer = finished, stream, rubPerUnit } = scenario
  const upstream = await startRawUpstream(t, ({ method, body }) => {
    if (stream !== undefined) return plainAnswer(200, ['content-type', 'text/event-stream'], stream)
    const isBegun = method === 'POST' && body.includes('"background":true')
    const begun = { id: 'resp_1', object: 'response', status: 'queued', output: [] }
    return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(isBegun ? begun : answer))
  })
  const gateway = await startTestGateway(t, {
    rub,
    config: {
      hold: { riskRub: '0', riskOfPaid: '0' },
      providers: {
        somebody: {
          like,
          credentials: ['c'],
          dialects: { [like === 'anthropic' ? like : 'openai']: { baseUrl: `${upstream.origin}/v1` } },
          ...(like === 'openai' && { prompts: { pmpt_any: { accounts: ['*'] } } }),
        },
      },
      models: {
        m: {
          provider: 'somebody',
          outputTokensMax: 100,
          contextTokensMax: 1000,
          rubPerMillion: { input: '1', output: '1' },
          rubPerUnit: rubPerUnit ?? { searches: '1', containers: '3' },
          factors: { priority: '2' },
        },
      },
    },
  })
  const headers = ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json']
  const post = (path: string, body: object) =>
    send(`${gateway.url}/v1${path}`, { headers, body: JSON.stringify(body) })
  const ask = (body: object) => post('/responses', { model: 'm', input: 'Compute.', ...body })
  const look = () => send(`${gateway.url}/v1/responses/resp_1`, { method: 'GET', headers })
  return { upstream, gateway, post, ask, look }
}

const auto = { type: 'code_interpreter', container: { type: 'auto' } }
const sized = (memory_limit: unknown) => ({ ...auto, container: { type: 'auto', memory_limit } })
const tokens = 0.0002
const inRoubles = (fee: number): string => (fee + tokens).toFixed(6)

await t.test(
  'a request that may run code is charged for its containers, whether it runs any or not',
  async t => {
    const { gateway, ask } = await start(t, {
      rubPerUnit: { searches: '1', containers: '3', 'containers/4g': '12', 'containers/64g': '192' },
      rub: 2000,
    })
    for (const [name, tools, fee] of [
      ['a container of its own', [auto], 3],
      ['no container named', [{ type: 'code_interpreter' }], 3],
      ['an existing container', [{ type: 'code_interpreter', container: 'cntr_1' }], 3],
      ['a larger one', [sized('4g')], 12],
      ['an invalid size', [sized('2t')], 192],
      ['no size', [sized(null)], 3],
      ['two containers', [auto, sized('4g')], 24],
      ['a shell', [{ type: 'shell', environment: { type: 'container_auto', memory_limit: '4g' } }], 12],
      ['a shell of the client’s', [{ type: 'shell', environment: { type: 'local' } }], 0],
      ['a function of the same name', [{ type: 'function', name: 'code_interpreter' }], 0],
    ] as const) {
      const { status, requestId } = await ask({ tools })
      t.equal(status, 200, name)
      const charge = await gateway.chargeOf(requestId)
      t.match(charge, { amount: inRoubles(fee), flags: [] }, name)
    }
    t.same(await gateway.breaches(), [])
  },
)

await t.test('a container is held for', async t => {
  const { upstream, ask } = await start(t, { rub: 2.9 })
  const { status, body } = await ask({ tools: [auto], max_tool_calls: 1 })
  t.equal(status, 402, body.toString())
  t.equal((await ask({})).status, 200)
  t.equal(upstream.requests.length, 1)
})

await t.test(
  'a container that a stored prompt may bring is held for at the largest size, and charged if reported',
  async t => {
    const rubPerUnit = { searches: '0', containers: '3', 'containers/4g': '12', 'containers/64g': '192' }
    const plain = { ...finished, output: [] }
    const prompt = { id: 'pmpt_any' }
    for (const [name, answer, fee] of [
      ['none', plain, 0],
      ['its code ran', finished, 3],
      ['its tools have one', { ...plain, tools: [auto] }, 3],
      ['a larger one', { ...plain, tools: [sized('4g')] }, 12],
      ['its tools are others', { ...plain, tools: [{ type: 'web_search' }] }, 0],
    ] as const) {
      const { gateway, ask, look } = await start(t, { rub: 500, rubPerUnit, answer })
      const { requestId } = await ask({ prompt })
      t.match(await gateway.chargeOf(requestId), { amount: inRoubles(fee), flags: [] }, name)
      const background = await ask({ prompt, background: true })
      t.equal((await look()).status, 200)
      await until(async () => (await gateway.charges()).length === 2)
      t.match(await gateway.chargeOf(background.requestId), { amount: inRoubles(fee), flags: [] }, name)
      t.same(await gateway.breaches(), [])
    }
    const { upstream, ask } = await start(t, { rub: 191.9, rubPerUnit })
    t.equal((await ask({ prompt })).status, 402)
    t.equal(upstream.requests.length, 0)
  },
)

await t.test('a size without a price is refused with the reason before anything is sent', async t => {
  const { upstream, ask } = await start(t)
  const larger = await ask({ tools: [sized('16g')] })
  t.equal(larger.status, 501)
  t.match(larger.body.toString(), /A container of 16g has no price .* \\"containers\/16g\\"/)
  const { ask: askUnpriced, upstream: other } = await start(t, { rubPerUnit: { searches: '1' } })
  const unpriced = await askUnpriced({ tools: [auto] })
  t.equal(unpriced.status, 501)
  t.match(unpriced.body.toString(), /A container has no price .* \\"containers\\"/)
  const prompted = await askUnpriced({ prompt: { id: 'pmpt_any' } })
  t.equal(prompted.status, 501)
  t.match(prompted.body.toString(), /The prompt may bring a container, .* tools: false/)
  t.equal(upstream.requests.length + other.requests.length, 0)
})

await t.test('a service tier does not change the price of a container', async t => {
  const { gateway, ask } = await start(t, { answer: { ...finished, service_tier: 'priority' } })
  const { requestId } = await ask({ tools: [auto], service_tier: 'priority' })
  t.match(await gateway.chargeOf(requestId), { amount: (3 + 2 * tokens).toFixed(6), flags: [] })
})

await t.test('a background response with a container costs the same', async t => {
  const { gateway, ask, look } = await start(t)
  const { requestId } = await ask({ tools: [auto], background: true })
  t.equal((await look()).status, 200)
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ requestId, amount: inRoubles(3), flags: [] }])
  await noHoldIsLeft(t, gateway)
})

await t.test('a stream without a usage is charged for its container too', async t => {
  const events = [
    { type: 'response.created', response: { ...finished, output: [], usage: null } },
    { type: 'response.output_text.delta', delta: 'The sum is' },
  ]
  const stream = events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
  const { gateway, ask } = await start(t, { stream })
  const { requestId } = await ask({ tools: [auto], stream: true })
  const charge = await gateway.chargeOf(requestId)
  t.match(charge, { usageSource: 'estimated', usage: { containers: 1 } })
  t.ok(Number(charge?.amount) > 3 && Number(charge?.amount) < 3.1, String(charge?.amount))
})

await t.test('compaction runs no tool, and is charged for no container', async t => {
  const { gateway, post } = await start(t, {
    answer: { ...finished, object: 'response.compaction', output: [] },
  })
  const { requestId } = await post('/responses/compact', { model: 'm', input: 'Compute.', tools: [auto] })
  t.match(await gateway.chargeOf(requestId), { amount: inRoubles(0) })
})

await t.test('a search in files has a price of its own', async t => {
  const output = [1, 2].map(index => ({ id: `fs_${index}`, type: 'file_search_call', status: 'completed' }))
  const tools = [{ type: 'file_search', vector_store_ids: [] }]
  const answer = { ...finished, output }
  const { gateway, ask } = await start(t, { answer, rubPerUnit: { searches: '1', 'searches/file': '0.25' } })
  const { requestId } = await ask({ tools, max_tool_calls: 2 })
  t.match(await gateway.chargeOf(requestId), { amount: inRoubles(0.5), flags: [], usage: { searches: 2 } })
})

await t.test('at xAI no container is charged, and each run of code costs as much as a search', async t => {
  const usage = {
    ...finished.usage,
    server_side_tool_usage_details: { web_search_calls: 1, code_interpreter_calls: 2, file_search_calls: 0 },
  }
  const { gateway, ask } = await start(t, { like: 'xai', answer: { ...finished, usage } })
  const { requestId } = await ask({ tools: [auto], max_turns: 3 })
  t.match(await gateway.chargeOf(requestId), { amount: inRoubles(3), flags: [], usage: { searches: 3 } })
})

await t.test('at Anthropic a container is held for, and charged only if code has run in it', async t => {
  const message = {
    id: 'msg_1',
    type: 'message',
    model: 'm',
    content: [{ type: 'text', text: '4' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 100, output_tokens: 100 },
  }
  const body = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Compute.' }] }
  const tools = [{ type: 'code_execution_20250825', name: 'code_execution' }]
  for (const [answer, fee] of [
    [{ ...message, container: { id: 'container_1', expires_at: '2027-01-01T00:00:00Z' } }, 3],
    [{ ...message, container: null }, 0],
  ] as const) {
    const { gateway, post } = await start(t, { like: 'anthropic', answer })
    const { requestId } = await post('/messages', { ...body, tools })
    t.match(await gateway.chargeOf(requestId), { amount: inRoubles(fee), flags: [] })
    const requests = [{ custom_id: 'a', params: { ...body, tools } }]
    const batch = await post('/messages/batches', { requests })
    t.equal(batch.status, 400)
    t.match(batch.body.toString(), /No container is rented in a batch/)
  }
  const poor = await start(t, { like: 'anthropic', answer: message, rub: 2.9 })
  t.equal((await poor.post('/messages', { ...body, tools })).status, 402)
  t.equal((await poor.post('/messages', body)).status, 200)
})
