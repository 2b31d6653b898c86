import t from 'tap'
import { send } from '../fixtures/http-client.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// The worst cost of a batch is the sum of the worst costs of its requests, at half the price.

const dialects = (path: string) => ({ baseUrl: `http://127.0.0.1:9${path}` })
const model = {
  contextTokensMax: 8000,
  outputTokensMax: 1000,
  rubPerMillion: { input: '100', output: '500' },
  factors: { batch: '0.5' },
}
const gateway = await startTestGateway(t, {
  rub: 0,
  config: {
    providers: {
      anthropic: { credentials: ['c'], dialects: { anthropic: dialects('/v1') } },
      mistral: { credentials: ['c'], dialects: { openai: dialects('/v1') } },
    },
    models: {
      m: { ...model, provider: 'anthropic' },
      e: { ...model, provider: 'mistral', rubPerMillion: { input: '100' } },
    },
  },
})

async function worstRub(path: string, body: object): Promise<number> {
  const headers = ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json']
  const answer = await send(`${gateway.url}/gateway/v1/quote?for=${path}`, {
    headers,
    body: JSON.stringify(body),
  })
  return Number((JSON.parse(answer.body.toString()) as { readonly worst?: string }).worst)
}

const message = (more: object): object => ({
  model: 'm',
  max_tokens: 1,
  messages: [{ role: 'user', content: 'Hi' }],
  ...more,
})
const count = 200

const rows: readonly (readonly [name: string, more: object])[] = [
  ['a plain request', {}],
  ['a tool of the client', { tools: [{ name: 'f', input_schema: { type: 'object' } }] }],
  [
    'a tool that the provider explains in the prompt',
    { tools: [{ type: 'computer_20250124', name: 'computer' }] },
  ],
  [
    'two tools',
    {
      tools: [
        { type: 'bash_20250124', name: 'bash' },
        { name: 'f', input_schema: {} },
      ],
    },
  ],
]

for (const [name, more] of rows) {
  await t.test(
    `a batch is held for with the text that the provider adds to each request: ${name}`,
    async t => {
      const alone = await worstRub('/anthropic/v1/messages', message(more))
      const requests = Array.from({ length: count }, (_, index) => ({
        custom_id: `${index}`,
        params: message(more),
      }))
      const batch = await worstRub('/anthropic/v1/messages/batches', { requests })

      t.ok(alone > 0)
      t.ok(batch >= 0.49 * count * alone, `${batch} for ${count} of ${alone}`)
      t.ok(batch < 0.8 * count * alone)
    },
  )
}

await t.test(
  'a list of texts in a batch is held for in full, since each text has its own window',
  async t => {
    const input = Array.from({ length: 20 }, () => '9'.repeat(4000))
    const alone = await worstRub('/mistral/v1/embeddings', { model: 'e', input })
    t.ok(alone > 8, `${alone} for 80,000 tokens`)
    const batch = await worstRub('/mistral/v1/batch/jobs', {
      model: 'e',
      endpoint: '/v1/embeddings',
      requests: [{ custom_id: '1', body: { input } }],
    })
    t.ok(batch >= 0.49 * alone, `${batch}`)
  },
)
