import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { somebodyAt } from '../fixtures/somebody-at.ts'

const message = JSON.stringify({
  type: 'message',
  model: 'm',
  content: [{ type: 'text', text: 'x' }],
  usage: { input_tokens: 1, output_tokens: 1, server_tool_use: { web_search_requests: 1 } },
})

/** A search costs 1 rouble, and all else next to nothing. */
async function start(t: Test, rub: number) {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], message),
  )
  const gateway = await startTestGateway(t, {
    rub,
    config: {
      hold: { riskRub: '0', riskOfPaid: '0' },
      // `max_uses` bounds the searches only at a provider that reads it.
      providers: { somebody: { ...(somebodyAt(upstream.origin)['somebody'] as object), like: 'anthropic' } },
      models: {
        m: {
          provider: 'somebody',
          outputTokensMax: 10,
          contextTokensMax: 1000,
          rubPerMillion: { input: '1', output: '1' },
          rubPerUnit: { searches: '1' },
          factors: { batch: '0.5' },
        },
      },
    },
  })
  const ask = (path: string, body: object) =>
    send(gateway.url + path, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify(body),
    })
  return { upstream, gateway, ask }
}

const chat = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }
const anthropicTool = { type: 'web_search_20250305', name: 'web_search', max_uses: 1 }

await t.test('a request that may search is held for with a search, in every form', async t => {
  const { upstream, gateway, ask } = await start(t, 0.9)
  for (const [path, body] of [
    ['/v1/messages', { ...chat, tools: [anthropicTool] }],
    ['/v1/messages/batches', { requests: [{ custom_id: 'a', params: { ...chat, tools: [anthropicTool] } }] }],
    ['/v1/responses', { model: 'm', input: 'Hi', tools: [{ type: 'web_search' }] }],
    ['/v1/responses', { model: 'm', input: 'Hi', tools: [{ type: 'web_search_preview_2025_03_11' }] }],
    ['/v1/responses', { model: 'm', input: 'Hi', tools: [{ type: 'x_search' }] }],
    ['/v1/chat/completions', { ...chat, web_search_options: {} }],
    ['/v1/chat/completions', { ...chat, plugins: [{ id: 'web' }] }],
    ['/v1/chat/completions', { ...chat, search_parameters: { max_search_results: 1 } }],
    ['/v1beta/models/m:generateContent', { contents: [], tools: [{ google_search: {} }] }],
    ['/v1beta/models/m:generateContent', { contents: [], tools: { googleMaps: {} } }],
    ['/v1beta/interactions', { model: 'm', input: 'Hi', tools: [{ type: 'google_search' }] }],
    ['/v1/rerank', { model: 'm', query: 'Hi', documents: ['x'] }],
    ['/somebody/v1/things', { model: 'm', tools: [{ type: 'web_search' }] }],
  ] as const) {
    t.equal((await ask(path, body)).status, 402, `${path} ${JSON.stringify(body)}`)
  }
  t.equal(upstream.requests.length, 0)
  t.same(await gateway.charges(), [])
})

await t.test('the hold covers as many searches as a tool may make', async t => {
  const { ask } = await start(t, 2.5)
  const withLimit = (max_uses: number): object => ({ ...chat, tools: [{ ...anthropicTool, max_uses }] })
  t.equal((await ask('/v1/messages', withLimit(3))).status, 402)
  t.equal((await ask('/v1/messages', withLimit(2))).status, 200)
  const live = { search_parameters: { mode: 'auto' } }
  t.equal((await ask('/v1/chat/completions', { ...chat, ...live })).status, 402, 'twenty by default')
  const documents = Array.from({ length: 201 }, () => 'x')
  t.equal((await ask('/v1/rerank', { model: 'm', query: 'Hi', documents })).status, 402)
})

await t.test('a request that does not search is held for without a search', async t => {
  for (const more of [
    { tools: [{ type: 'function', function: { name: 'web_search' } }] },
    { search_parameters: { mode: 'off' } },
    { web_search_options: null },
  ]) {
    const { ask } = await start(t, 0.9)
    t.equal((await ask('/v1/chat/completions', { ...chat, ...more })).status, 200, JSON.stringify(more))
  }
})

await t.test('of five concurrent searches on a balance for one, one is forwarded', async t => {
  const { gateway, ask } = await start(t, 1.5)
  const body = { ...chat, tools: [anthropicTool] }
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask('/v1/messages', body)))
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.match(await gateway.charges(), [{ amount: '1.000002', flags: [] }])
  t.same(await gateway.breaches(), [])
})
