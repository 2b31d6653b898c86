import t from 'tap'
import { call } from '../fixtures/job-kinds.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// A path that is free at one provider is billed at another: Mistral's conversations respond, and its moderations are
// billed by tokens. No client may use them with the operator's credential for free.

const answer = JSON.stringify({
  id: 'conv_1',
  object: 'conversation.response',
  outputs: [{ type: 'message.output', content: 'Bonjour' }],
  usage: { prompt_tokens: 1000, completion_tokens: 1000, total_tokens: 2000 },
})
const upstream = await startRawUpstream(t, () =>
  plainAnswer(200, ['content-type', 'application/json'], answer),
)
const kinds = [
  'openai',
  'mistral',
  'xai',
  'groq',
  'openrouter',
  'together',
  'fireworks',
  'a-server-of-my-own',
]
const dialects = { openai: { baseUrl: `${upstream.origin}/v1` } }
const gateway = await startTestGateway(t, {
  config: {
    providers: Object.fromEntries(kinds.map(kind => [kind, { credentials: ['x'], dialects }])),
    models: Object.fromEntries(
      kinds.map(kind => [`of-${kind}`, { provider: kind, rubPerMillion: { input: '100', output: '100' } }]),
    ),
  },
})

for (const kind of kinds) {
  await t.test(
    `${kind}: a path that is free at OpenAI is ${kind === 'openai' ? 'forwarded' : 'refused'}`,
    async t => {
      const bodies: Readonly<Record<string, object>> = {
        conversations: { model: `of-${kind}`, inputs: 'Hello', stream: false },
        moderations: { model: `of-${kind}`, input: 'Hello' },
      }
      for (const [path, body] of Object.entries(bodies)) {
        const sent = upstream.requests.length
        const { status } = await call(gateway, 'POST', `/${kind}/v1/${path}`, body)
        t.equal(status, kind === 'openai' ? 200 : 501, path)
        t.equal(upstream.requests.length - sent, kind === 'openai' ? 1 : 0, path)
      }
      const sent = upstream.requests.length
      const byModel = await call(gateway, 'POST', '/v1/moderations', bodies['moderations'])
      t.equal(byModel.status, kind === 'openai' ? 200 : 501, 'where the model chooses the provider')
      t.equal(upstream.requests.length - sent, kind === 'openai' ? 1 : 0)
    },
  )
}

await t.test('a conversation continues only at the provider where its account began it', async t => {
  const sent = upstream.requests.length
  for (const kind of kinds.slice(1)) {
    for (const path of ['conversations/conv_1', 'conversations/conv_1/items']) {
      const { status } = await call(gateway, 'POST', `/${kind}/v1/${path}`, { inputs: 'Hello' })
      t.ok(status === 404 || status === 501, `${kind} ${path}: ${status}`)
    }
  }
  t.equal(upstream.requests.length, sent)
  t.same(await gateway.charges(), [])
  t.same(await gateway.breaches(), [])
})
