import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const tokens = { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 }
const searched = (counters: object) => ({ ...tokens, ...counters })

interface Scenario {
  readonly like: string
  readonly usage?: object
  readonly rubPerUnit?: Readonly<Record<string, string>>
  readonly rub?: number
}

/** Tokens cost next to nothing. */
async function start(t: Test, { like, usage = tokens, rubPerUnit, rub = 100 }: Scenario) {
  const upstream = await startRawUpstream(t, ({ body }) => {
    const text = { choices: [{ index: 0, message: { content: 'Hello' } }] }
    const chunks = [{ choices: [{ index: 0, delta: { content: 'Hello' } }] }, { choices: [], usage }]
    if (!body.includes('"stream":true'))
      return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify({ ...text, usage }))
    const events = chunks.map(chunk => `data: ${JSON.stringify(chunk)}\n\n`).join('')
    return plainAnswer(200, ['content-type', 'text/event-stream'], `${events}data: [DONE]\n\n`)
  })
  const model = {
    provider: 'somebody',
    outputTokensMax: 100,
    contextTokensMax: 1000,
    rubPerMillion: { input: '1', output: '1' },
    factors: { batch: '0.5' },
  }
  const gateway = await startTestGateway(t, {
    rub,
    config: {
      hold: { riskRub: '0', riskOfPaid: '0' },
      isolation: 'off',
      providers: {
        somebody: {
          like,
          credentials: ['c'],
          dialects: {
            openai: { baseUrl: `${upstream.origin}/v1` },
            anthropic: { baseUrl: `${upstream.origin}/v1` },
          },
        },
      },
      models: { m: { ...model, ...(rubPerUnit !== undefined && { rubPerUnit }) } },
    },
  })
  const post = (path: string, body: object) =>
    send(`${gateway.url}/v1${path}`, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify(body),
    })
  const ask = (more: object) =>
    post('/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...more })
  return { upstream, gateway, post, ask }
}

const priced = { searches: '1' }

await t.test("Qwen's searches are charged by its counter, and as one where it reports none", async t => {
  for (const [name, usage, more, amount] of [
    ['counted', searched({ plugins: { search: { count: 2, strategy: 'agent' } } }), {}, '2.000200'],
    ['counted as zero', searched({ plugins: { search: { count: 0 } } }), {}, '0.000200'],
    ['not counted', tokens, {}, '1.000200'],
    ['not counted, and forced', tokens, { search_options: { forced_search: true } }, '1.000200'],
  ] as const) {
    const { gateway, ask } = await start(t, { like: 'qwen', usage, rubPerUnit: priced })
    for (const stream of [false, true]) {
      const { status, requestId } = await ask({ enable_search: true, stream, ...more })
      t.equal(status, 200, name)
      t.match(await gateway.chargeOf(requestId), { amount, flags: [] }, `${name}, ${stream}`)
    }
    t.same(await gateway.breaches(), [])
  }
})

await t.test('an uncounted search is held for', async t => {
  const { upstream, ask } = await start(t, { like: 'qwen', rubPerUnit: priced, rub: 9 })
  t.equal((await ask({ enable_search: true })).status, 402)
  t.equal((await ask({})).status, 200)
  t.equal(upstream.requests.length, 1)
})

await t.test("a search in Google's OpenAI format, which reports no count, is charged as one", async t => {
  const { gateway, ask } = await start(t, { like: 'google', rubPerUnit: priced })
  const { requestId } = await ask({ extra_body: { google: { tools: [{ google_search: {} }] } } })
  t.match(await gateway.chargeOf(requestId), { amount: '1.000200' })
})

await t.test('no search is charged where a provider that counts its searches reports none', async t => {
  for (const like of ['openai', 'xai', 'openrouter', 'perplexity']) {
    const { gateway, ask } = await start(t, { like, rubPerUnit: priced })
    const { requestId } = await ask({ web_search_options: {} })
    t.match(await gateway.chargeOf(requestId), { amount: '0.000200' }, like)
  }
})

await t.test('a search without a price is refused before anything is sent', async t => {
  for (const [like, path, body] of [
    ['qwen', '/chat/completions', { enable_search: true, messages: [] }],
    ['zai', '/chat/completions', { tools: [{ type: 'web_search', web_search: {} }], messages: [] }],
    ['moonshot', '/chat/completions', { tools: [{ type: 'builtin_function' }], messages: [] }],
    ['openai', '/responses', { tools: [{ type: 'file_search' }], input: 'Hi' }],
    ['anthropic', '/messages', { tools: [{ type: 'web_search_20250305' }], max_tokens: 9, messages: [] }],
  ] as const) {
    const { upstream, gateway, post } = await start(t, { like })
    const { status, body: refusal } = await post(path, { model: 'm', ...body })
    t.equal(status, 501, like)
    t.match(refusal.toString(), /A search has no price for this model here.*\\"searches\\"/, like)
    t.equal(upstream.requests.length, 0)
    t.same(await gateway.charges(), [])
  }
  const { post, upstream } = await start(t, { like: 'anthropic' })
  const params = { model: 'm', max_tokens: 9, messages: [], tools: [{ type: 'web_search_20250305' }] }
  const batch = await post('/messages/batches', { requests: [{ custom_id: 'a', params }] })
  t.equal(batch.status, 501)
  t.match(batch.body.toString(), /requests\[0\]: A search has no price/)
  t.equal(upstream.requests.length, 0)
})

await t.test('a search is allowed by any price that pays for it, also a price of zero', async t => {
  for (const rubPerUnit of [{ searches: '0' }, { 'requests/low': '1' }, { statedUsd: '100' }]) {
    const { ask } = await start(t, { like: 'groq', rubPerUnit })
    t.equal((await ask({ web_search_options: {} })).status, 200, JSON.stringify(rubPerUnit))
  }
})
