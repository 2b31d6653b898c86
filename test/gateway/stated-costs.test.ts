import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

/** A dollar is 100 roubles; a million tokens, in or out, are a dollar. */
async function start(t: Test, usage: object, like = 'openrouter') {
  const chat = { object: 'chat.completion', model: 'm', choices: [{ message: { content: 'Hello' } }], usage }
  const upstream = await startRawUpstream(t, ({ body }) => {
    if (!body.includes('"stream":true'))
      return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(chat))
    const chunk = { object: 'chat.completion.chunk', choices: [{ delta: { content: 'Hello' } }] }
    const events = [chunk, { ...chunk, choices: [], usage }].map(one => `data: ${JSON.stringify(one)}\n\n`)
    return plainAnswer(200, ['content-type', 'text/event-stream'], `${events.join('')}data: [DONE]\n\n`)
  })
  const gateway = await startTestGateway(t, {
    rub: 1000,
    config: {
      prices: { usdRub: '100', coefficient: '1' },
      providers: {
        somebody: { like, credentials: ['c'], dialects: { openai: { baseUrl: `${upstream.origin}/v1` } } },
      },
      models: {
        m: {
          provider: 'somebody',
          outputTokensMax: 100,
          usdPerMillion: { input: '1', output: '1' },
          ...(like === 'openrouter' && { usdPerUnit: { statedUsd: '1' } }),
        },
      },
    },
  })
  const ask = (more: object = {}) =>
    send(`${gateway.url}/v1/chat/completions`, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...more }),
    })
  return { gateway, ask }
}

const tokens = { prompt_tokens: 900, completion_tokens: 100, total_tokens: 1000 }

await t.test('a cost that no meter counts is charged as the provider states it', async t => {
  const { gateway, ask } = await start(t, { ...tokens, cost: 0.251 })
  for (const more of [{}, { stream: true }]) {
    const { requestId } = await ask(more)
    t.match(await gateway.chargeOf(requestId), {
      amount: '25.100000',
      usage: { input: 900, output: 100, statedUsd: 0.25 },
      flags: ['cost_stated'],
      usageSource: 'provider',
    })
  }
  t.same(await gateway.breaches(), [])
})

await t.test('a stated cost that does not exceed the meters changes nothing', async t => {
  for (const cost of [0.001, 0.00100001, 0.0004, 0, -1, '7', null, { total_cost: 0.001 }]) {
    const { gateway, ask } = await start(t, { ...tokens, cost })
    const { requestId } = await ask()
    t.match(await gateway.chargeOf(requestId), { amount: '0.100000', flags: [] }, JSON.stringify(cost))
  }
})

await t.test('without a price for stated dollars a model is charged by its meters alone', async t => {
  const { gateway, ask } = await start(t, { ...tokens, cost: 0.251 }, 'openai')
  const { requestId } = await ask()
  t.match(await gateway.chargeOf(requestId), { amount: '0.100000', flags: [] })
})
