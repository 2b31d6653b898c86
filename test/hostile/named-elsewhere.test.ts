import t from 'tap'
import { namingMembers } from '../../lib/dialects/naming-members.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { openSession } from '../fixtures/session-client.ts'
import { answerResponses, startSessionGateway } from '../fixtures/session-gateway.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'

// Objects that providers store for the operator's account and show to everyone who names them: machines in which agents
// have worked, connectors that hold passwords, collections of texts, voices, conversations continued by a query.

const created = {
  id: 'v1_a',
  environment_id: 'env_own',
  status: 'completed',
  usage: { total_input_tokens: 1 },
}
const upstream = await startRawUpstream(t, () =>
  plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(created)),
)
const gateway = await startTestGateway(t, { config: callConfig(upstream.origin), rub: 1_000_000 })

async function ask(path: string, body?: object): Promise<ClientAnswer> {
  return await send(gateway.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: [
      ...(path.startsWith('/v1beta/') && !path.includes('/openai/')
        ? ['x-goog-api-key', gateway.key]
        : ['authorization', `Bearer ${gateway.key}`]),
      'content-type',
      'application/json',
    ],
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

const model = 'test-model'
const messages = [{ role: 'user', content: 'Hi' }]

const rows: readonly (readonly [path: string, body: object])[] = [
  ['/v1beta/interactions', { agent: model, input: 'Hi', environment: 'env_theirs' }],
  ['/v1beta/interactions', { agent: model, input: 'Hi', Environment: 'env_theirs' }],
  ['/v1beta/interactions', { agent: model, input: 'Hi', environment: { environment_id: 'env_theirs' } }],
  ['/v1beta/interactions', { agent: model, input: 'Hi', environment: { environmentId: 'env_theirs' } }],
  ['/v1/chat/completions', { model, messages, tools: [{ type: 'connector', connector_id: 'theirs' }] }],
  ['/v1/responses', { model, input: 'Hi', tools: [{ type: 'connector', connector_id: 'theirs' }] }],
  ['/v1/responses', { model, input: 'Hi', tools: [{ type: 'file_search', collection_ids: ['theirs'] }] }],
  ['/v1/responses', { model, input: [{ content: { file_id: 'file-theirs' } }] }],
  ['/v1/responses', { model, input: { type: 'item_reference', id: 'msg_theirs' } }],
  ['/v1/chat/completions', { model, messages, audio: { voice: { id: 'voice_theirs' }, format: 'wav' } }],
  ['/v1/audio/speech', { model, input: 'Hi', voice: { id: 'voice_theirs' } }],
  ['/v1/chat/completions', { model, messages, extra_body: { google: { cachedContent: 'theirs' } } }],
  ...['generativelanguage.mtls.googleapis.com', 'us-generativelanguage.googleapis.com'].map(
    host =>
      [
        `/v1beta/models/${model}:generateContent`,
        { contents: [{ parts: [{ fileData: { fileUri: `https://${host}/v1beta/files/theirs` } }] }] },
      ] as const,
  ),
]

for (const [path, body] of rows) {
  await t.test(`${path} ${JSON.stringify(body)}`, async t => {
    const answer = await ask(path, body)
    t.equal(answer.status, 404, answer.body.toString())
    t.match(answer.body.toString(), /was found/)
    t.equal(upstream.requests.length, 0)
  })
}

await t.test('no query names an object', async t => {
  const chat = { model, messages }
  for (const key of Object.keys(namingMembers).filter(key => !/model|fallback/.test(key))) {
    const name = key.replace('*', 'some')
    for (const spelled of [name, name.toUpperCase(), `${name}[]`, `a;${name}`, `input%5B${name}%5D`]) {
      const answer = await ask(`/v1/chat/completions?${spelled}=theirs`, chat)
      t.equal(answer.status, 400, `${spelled}: ${answer.body.toString()}`)
    }
  }
  t.equal(upstream.requests.length, 0)
})

await t.test("shared objects and the account's own are forwarded", async t => {
  for (const [path, body] of [
    ['/v1beta/interactions', { agent: model, input: 'Hi', environment: 'remote' }],
    ['/v1beta/interactions', { agent: model, input: 'Hi', environment: { type: 'remote', sources: [] } }],
    ['/v1beta/interactions', { agent: model, input: 'Hi', environment: 'env_own' }],
    ['/v1/responses', { model, input: 'Hi', tools: [{ type: 'mcp', connector_id: 'connector_gmail' }] }],
    ['/v1/audio/speech', { model, input: 'Hi', voice: 'alloy' }],
    [`/v1/chat/completions?include=a&after=b&store=c`, { model, messages }],
  ] as const) {
    const before = upstream.requests.length
    const answer = await ask(path, body)
    t.equal(upstream.requests.length, before + 1, `${path}: ${answer.status} ${answer.body.toString()}`)
  }
})

await t.test('a session does not continue the conversation of another account', async t => {
  const { realtimeUrl, key, upstream } = await startSessionGateway(t, answerResponses)
  for (const query of [
    'conversation_id=conv_theirs',
    'agent_id=theirs',
    'Conversation_ID=conv_theirs',
    // Servers that ignore case find a second model.
    'Model=other',
    'MODEL=other',
    'Call_Id=rtc_theirs',
    'deployment=other',
  ]) {
    const opened = openSession(t, `${realtimeUrl}&${query}`, { key })
    await t.rejects(opened, /400/, query)
  }
  t.equal(upstream.sessions.length, 0)
})

await t.test('an item of a session names no file of another account, in any shape', async t => {
  const { realtimeUrl, key, upstream } = await startSessionGateway(t, answerResponses)
  const client = await openSession(t, realtimeUrl, { key })
  const items = [
    { type: 'message', content: { type: 'input_image', file_id: 'file-theirs' } },
    { type: 'message', content: [{ type: 'input_image', image: { file_id: 'file-theirs' } }] },
    { type: 'message', content: [[{ file_id: 'file-theirs' }]] },
  ]
  for (const [index, item] of items.entries()) {
    client.send({ type: 'conversation.item.create', item })
    await until(() => client.received.filter(text => text.includes('object_not_found')).length === index + 1)
  }
  for (const count of [1, 2]) {
    const item = { type: 'message', previous_response_id: 'resp_theirs' }
    client.send({ type: 'conversation.item.create', item })
    const isRefused = (text: string): boolean => text.includes('previous_response_not_found')
    await until(() => client.received.filter(isRefused).length === count)
  }
  t.equal(upstream.sessions[0]?.received.length, 0)
})
