import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const usage = {
  input_tokens: 3,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 2,
  total_tokens: 5,
}
const stored = { id: 'resp_1', object: 'response', status: 'completed', model: 'gpt-5', output: [], usage }

async function start(t: Test, isolation: 'strict' | 'off' = 'strict') {
  const upstream = await startRawUpstream(t, request => {
    const isStream = request.body.includes('"stream":true')
    if (!isStream) return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(stored))
    const events = [
      {
        type: 'response.created',
        sequence_number: 0,
        response: { ...stored, status: 'in_progress', usage: null },
      },
      { type: 'response.completed', sequence_number: 1, response: stored },
    ].map(event => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))
    const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])
    return { pieces: [head, ...chunked(events)] }
  })
  const gateway = await startTestGateway(t, {
    config: {
      providers: {
        openai: { credentials: ['secret'], dialects: { openai: { baseUrl: `${upstream.origin}/v1` } } },
      },
      models: {
        'gpt-5': { provider: 'openai', rubPerMillion: { input: '100', cachedInput: '10', output: '400' } },
      },
      defaultProvider: { openai: 'openai' },
      isolation,
    },
  })
  const other = await gateway.accounts.createAccount({ email: 'other@example.org' })
  await gateway.accounts.credit({ accountId: other.id, amountMicros: 1_000_000, reason: 'test' })
  const { key: otherKey } = await gateway.accounts.createKey({ accountId: other.id })
  const ask = (key: string, method: string, path: string, body?: object) =>
    send(gateway.url + path, {
      method,
      headers: ['authorization', `Bearer ${key}`, 'content-type', 'application/json'],
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  return { upstream, gateway, otherKey, ask }
}

for (const stream of [false, true]) {
  t.test(`a stored response belongs to the account that made it${stream ? ', streamed' : ''}`, async t => {
    const { upstream, gateway, otherKey, ask } = await start(t)
    const made = await ask(gateway.key, 'POST', '/v1/responses', { model: 'gpt-5', input: 'Hi', stream })
    t.equal(made.status, 200)
    const sent = upstream.requests.length

    const own = await ask(gateway.key, 'GET', '/v1/responses/resp_1')
    const foreign = await ask(otherKey, 'GET', '/v1/responses/resp_1')
    const unknown = await ask(gateway.key, 'GET', '/v1/responses/resp_2')
    const deleted = await ask(otherKey, 'DELETE', '/v1/responses/resp_1')

    t.equal(own.status, 200)
    t.equal(own.body.toString(), JSON.stringify(stored), 'unchanged')
    t.equal(foreign.status, 404)
    t.match(foreign.body.toString(), /object_not_found/)
    t.equal(unknown.status, 404)
    t.equal(deleted.status, 404)
    t.equal(upstream.requests.length, sent + 1, "only the owner's request was forwarded")
    t.equal((await gateway.charges()).length, 1, 'reading a response again is free')
  })

  t.test(`another account cannot continue a stored response${stream ? ', streamed' : ''}`, async t => {
    const { upstream, gateway, otherKey, ask } = await start(t)
    await ask(gateway.key, 'POST', '/v1/responses', { model: 'gpt-5', input: 'Hi', stream })
    const sent = upstream.requests.length
    const next = { model: 'gpt-5', input: 'Go on', previous_response_id: 'resp_1' }

    const foreign = await ask(otherKey, 'POST', '/v1/responses', next)
    const unknown = await ask(gateway.key, 'POST', '/v1/responses', {
      ...next,
      previous_response_id: 'resp_2',
    })
    const own = await ask(gateway.key, 'POST', '/v1/responses', next)

    t.equal(foreign.status, 400)
    t.match(JSON.parse(foreign.body.toString()), {
      error: {
        message: 'Previous response with id "resp_1" not found.',
        param: 'previous_response_id',
        code: 'previous_response_not_found',
      },
    })
    t.equal(
      unknown.body.toString(),
      foreign.body.toString().replace('resp_1', 'resp_2'),
      'like an unknown one',
    )
    t.equal((await gateway.charges()).length, 2, 'only the first and the own one are charged')
    t.equal(own.status, 200)
    t.equal(upstream.requests.length, sent + 1)
  })
}

t.test('a stored response is recorded although its id was in a compressed body', async t => {
  const { upstream, gateway, ask } = await start(t)
  const body = gzipSync(JSON.stringify(stored))
  upstream.answer = () =>
    plainAnswer(200, ['content-type', 'application/json', 'content-encoding', 'gzip'], body)

  const made = await ask(gateway.key, 'POST', '/v1/responses', { model: 'gpt-5', input: 'Hi' })
  const own = await ask(gateway.key, 'GET', '/v1/responses/resp_1')

  t.ok(made.body.equals(body), 'unchanged')
  t.equal(own.status, 200)
})

t.test('without isolation every stored response can be read', async t => {
  const { otherKey, ask } = await start(t, 'off')

  const answer = await ask(otherKey, 'GET', '/v1/responses/resp_77')

  t.equal(answer.status, 200)
})

t.test('only the account of a stored response may refer to its items', async t => {
  const { upstream, gateway, otherKey, ask } = await start(t)
  const output = [{ type: 'message', id: 'msg_1', role: 'assistant', content: [] }]
  upstream.answer = () =>
    plainAnswer(200, ['content-type', 'application/json'], JSON.stringify({ ...stored, output }))
  const make = (store?: boolean): object => ({
    model: 'gpt-5',
    input: 'Hi',
    ...(store === false && { store }),
  })
  const refer = { model: 'gpt-5', input: [{ type: 'item_reference', id: 'msg_1' }] }

  await ask(gateway.key, 'POST', '/v1/responses', make(false))
  t.equal(
    (await ask(gateway.key, 'POST', '/v1/responses', refer)).status,
    404,
    'an item that is not stored is unknown',
  )
  await ask(gateway.key, 'POST', '/v1/responses', make())
  const sent = upstream.requests.length
  t.equal((await ask(otherKey, 'POST', '/v1/responses', refer)).status, 404)
  t.equal(upstream.requests.length, sent)
  t.equal((await ask(gateway.key, 'POST', '/v1/responses', refer)).status, 200)
})

t.test('reasoning with its content passes, whatever its id; a reference by id alone does not', async t => {
  const { upstream, gateway, ask } = await start(t)
  const reasoning = { type: 'reasoning', id: 'rs_nobodys', summary: [] }
  const send = (item: object) =>
    ask(gateway.key, 'POST', '/v1/responses', {
      model: 'gpt-5',
      input: [item, { role: 'user', content: 'Hi' }],
    })

  for (const content of [
    { encrypted_content: 'gAAAAAB' },
    { content: [{ type: 'reasoning_text', text: 'Hm.' }] },
  ]) {
    const answer = await send({ ...reasoning, ...content })
    t.equal(answer.status, 200, answer.body.toString())
    t.match(upstream.requests.at(-1)?.body.toString(), /"id":"rs_nobodys"/, 'unchanged')
  }
  const sent = upstream.requests.length
  t.equal((await send(reasoning)).status, 404)
  t.equal((await send({ type: 'item_reference', id: 'rs_nobodys' })).status, 404)
  t.equal(upstream.requests.length, sent)
})
