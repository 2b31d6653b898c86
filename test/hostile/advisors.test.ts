import t from 'tap'
import { callConfig } from '../fixtures/dialect-call.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// With a key that is limited to a priced model, an attacker has another model do the work: its provider bills the
// operator at that model's price.

const answer = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'small',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage: {
    input_tokens: 10,
    output_tokens: 10,
    iterations: [
      { type: 'message', model: 'small', input_tokens: 10, output_tokens: 10 },
      { type: 'advisor_message', model: 'large-20260101', input_tokens: 10, output_tokens: 1000 },
    ],
  },
}
const upstream = await startRawUpstream(t, () =>
  plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(answer)),
)
const price = (output: string): object => ({
  provider: ['openai', 'anthropic', 'google'],
  outputTokensMax: 1000,
  rubPerMillion: { input: '1', output },
})
const gateway = await startTestGateway(t, {
  config: callConfig(upstream.origin, {}, { models: { small: price('1'), large: price('1000') } }),
  keyModels: ['small'],
})
const { key: freeKey } = await gateway.accounts.createKey({ accountId: gateway.accountId })

function ask(path: string, body: object, key = gateway.key): Promise<ClientAnswer> {
  return send(gateway.url + path, {
    headers: ['authorization', `Bearer ${key}`, 'content-type', 'application/json'],
    body: JSON.stringify({ model: 'small', max_tokens: 100, messages: [], ...body }),
  })
}

const advisor = { type: 'advisor_20260301', name: 'advisor', model: 'large' }
const inBlock = (block: object): object => ({ messages: [{ role: 'user', content: [block] }] })

const attacks: readonly (readonly [name: string, path: string, body: object])[] = [
  ['an advisor', '/v1/messages', { tools: [advisor] }],
  ['a fallback', '/v1/messages', { fallbacks: [{ model: 'large' }] }],
  ['the second fallback', '/v1/messages', { fallbacks: [{ model: 'small' }, { model: 'large' }] }],
  ["fallbacks of the provider's choice", '/v1/messages', { fallbacks: 'default' }],
  [
    'an advisor that is added in a message',
    '/v1/messages',
    inBlock({ type: 'tool_addition', tool: { type: 'tool_definition', definition: advisor } }),
  ],
  ['an advisor in capitals', '/v1/messages', { tools: [{ type: 'advisor_20260301', MODEL: 'large' }] }],
  [
    'an advisor in a batch',
    '/v1/messages/batches',
    { requests: [{ custom_id: '1', params: { model: 'small', max_tokens: 1, tools: [advisor] } }] },
  ],
  [
    'a fallback of the provider in a batch',
    '/v1/messages/batches',
    { requests: [{ custom_id: '1', params: { model: 'small', max_tokens: 1, fallbacks: 'default' } }] },
  ],
  ["a model of OpenRouter's plugins", '/v1/chat/completions', { plugins: [{ id: 'x', model: 'large' }] }],
  ['several of them', '/v1/chat/completions', { plugins: [{ id: 'fusion', analysis_models: ['large'] }] }],
  ['a model that judges', '/v1/chat/completions', { plugins: [{ id: 'fusion', judge: { model: 'large' } }] }],
  [
    "a parameter of OpenRouter's tools",
    '/v1/chat/completions',
    { tools: [{ type: 'openrouter:advisor', parameters: { model: 'large' } }] },
  ],
  ['a model beside its own', '/v1/chat/completions', { models: ['small', 'large'] }],
  ['a model that moderates', '/v1/chat/completions', { moderation: { model: 'large' } }],
  ['a preset, which names models', '/v1/chat/completions', { preset: 'mine' }],
  ['a model that draws', '/v1/responses', { tools: [{ type: 'image_generation', model: 'large' }] }],
  ['the default model that draws', '/v1/responses', { tools: [{ type: 'image_generation' }] }],
  [
    'an author of drawings',
    '/v1/responses',
    { tools: [{ type: 'image_generation', model: 'small', svg: { model: 'large' } }] },
  ],
  [
    'a tool that is in the input',
    '/v1/responses',
    { input: [{ type: 'additional_tools', tools: [{ type: 'image_generation', model: 'large' }] }] },
  ],
  ["an agent's model", '/v1beta/interactions', { agent_config: { type: 'antigravity', model: 'large' } }],
  [
    "a router's choice",
    '/v1beta/models/small:generateContent',
    { generationConfig: { routingConfig: { manualMode: { modelName: 'large' } } } },
  ],
  ["a model other than the path's", '/v1beta/models/small:generateContent', { model: 'models/large' }],
  [
    "a model other than the path's in one of several",
    '/v1beta/models/small:batchEmbedContents',
    { model: 'models/small', requests: [{ model: 'models/large', content: {} }] },
  ],
]

for (const [name, path, body] of attacks) {
  await t.test(`${name} is refused before a byte leaves`, async t => {
    const { model: _model, ...own } = { model: '', ...body }
    const { status, body: told } = await ask(path, path.includes(':') ? body : own)
    t.ok([400, 403, 404, 501].includes(status), `${status} ${told.toString()}`)
    t.equal(upstream.requests.length, 0)
  })
}

await t.test('a key that may use it is charged at its price, and its hold covers it', async t => {
  const { status, requestId } = await ask('/v1/messages', { tools: [advisor] }, freeKey)
  t.equal(status, 200)
  // 10 in and 10 out at 1, 10 in at 1 and 1000 out at 1000 roubles per million.
  t.match(await gateway.chargeOf(requestId), { amount: '1.000030', flags: [] })
})

await t.test("a model name in a tool's input is not read as a model", async t => {
  const schema = { type: 'object', properties: { model: { type: 'string' } }, default: { model: 'large' } }
  for (const [path, body] of [
    ['/v1/messages', { tools: [{ name: 'f', input_schema: schema }], metadata: { model: 'large' } }],
    ['/v1/messages', inBlock({ type: 'tool_use', id: '1', name: 'f', input: { model: 'large' } })],
    ['/v1/responses', { tools: [{ type: 'function', name: 'f', parameters: schema }] }],
    [
      '/v1/responses',
      { input: [{ type: 'function_call', call_id: '1', name: 'f', arguments: '{"model":"large"}' }] },
    ],
    ['/v1/chat/completions', { tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] }],
    [
      '/v1/chat/completions',
      { response_format: { type: 'json_schema', json_schema: { name: 'f', schema } } },
    ],
    [
      '/v1beta/models/small:generateContent',
      {
        model: 'models/small',
        contents: [{ parts: [{ functionCall: { name: 'f', args: { model: 'large' } } }] }],
        generationConfig: { responseSchema: schema },
      },
    ],
  ] as const) {
    const { status, body: told } = await ask(path, body)
    t.equal(status, 200, `${path} ${JSON.stringify(body)}: ${told.toString()}`)
  }
  t.same(await gateway.breaches(), [])
})
