import t, { type Test } from 'tap'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

// Anthropic stores a conversation under the id of its last message. A client that names another account's id reads it,
// and one that continues a long conversation pays for a short one.

const usage = { input_tokens: 150_000, cache_read_input_tokens: 40_000, output_tokens: 10_000 }
const contextTokens = 200_000
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'some-model',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage,
}

function stream(): Buffer[] {
  const events = [
    { type: 'message_start', message: { ...message, content: [], usage: { ...usage, output_tokens: 1 } } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ]
  return [
    headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
    ...chunked(events.map(event => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))),
  ]
}

async function start(t: Test) {
  const upstream = await startRawUpstream(t, ({ body }) =>
    body.includes('"stream":true')
      ? { pieces: stream() }
      : plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(message)),
  )
  const gateway = await startTestGateway(t, {
    config: {
      providers: {
        anthropic: {
          credentials: [
            { value: 'first-credential', name: 'one' },
            { value: 'second-credential', name: 'two' },
          ],
          dialects: { anthropic: { baseUrl: `${upstream.origin}/v1` }, openai: null },
        },
      },
      models: {
        'some-model': {
          provider: 'anthropic',
          outputTokensMax: 100,
          rubPerMillion: { input: '100', cachedInput: '10', output: '100' },
        },
      },
    },
  })
  const other = await gateway.accounts.createAccount({ email: 'other@example.org' })
  await gateway.accounts.credit({ accountId: other.id, amountMicros: 1e9, reason: 'test' })
  const { key: otherKey } = await gateway.accounts.createKey({ accountId: other.id })
  const ask = (body: object, key = gateway.key, path = '/v1/messages'): Promise<ClientAnswer> =>
    send(gateway.url + path, {
      headers: ['authorization', `Bearer ${key}`, 'anthropic-version', '2023-06-01'],
      body: JSON.stringify({
        model: 'some-model',
        max_tokens: 100,
        messages: [{ role: 'user', content: 'Hi' }],
        ...body,
      }),
    })
  const quote = async (body: object): Promise<number> => {
    const answer = await ask(body, gateway.key, '/gateway/v1/quote?for=/v1/messages')
    return Number((JSON.parse(answer.body.toString()) as { hold: string }).hold)
  }
  return { upstream, gateway, otherKey, ask, quote }
}

const goOn = { thread: { type: 'continue', previous_message_id: 'msg_1' } }

for (const isStreaming of [false, true]) {
  await t.test(
    `a thread belongs to its account${isStreaming ? ', even if it was streamed' : ''}`,
    async t => {
      const { upstream, gateway, otherKey, ask, quote } = await start(t)
      const begin = { thread: { type: 'create' }, ...(isStreaming && { stream: true }) }
      t.equal((await ask(begin)).status, 200)
      t.equal(upstream.requests.length, 1)

      const foreign = await ask(goOn, otherKey)
      const unknown = await ask({ thread: { type: 'continue', previous_message_id: 'msg_2' } }, otherKey)
      for (const { status, body } of [foreign, unknown]) {
        t.equal(status, 404)
        t.match(body.toString(), /"type":"not_found_error"/)
      }
      const counted = await ask(goOn, otherKey, '/v1/messages/count_tokens')
      t.equal(counted.status, 404, 'not even for counting')
      const batched = {
        requests: [{ custom_id: '1', params: { model: 'some-model', max_tokens: 1, ...goOn } }],
      }
      t.equal((await ask({ ...batched }, otherKey, '/v1/messages/batches')).status, 404, 'nor in a batch')
      t.equal(upstream.requests.length, 1, 'nothing is forwarded')

      const plain = await quote({})
      const held = await quote(goOn)
      t.ok(held - plain >= (contextTokens * 100) / 1e6, `${held} is held, ${plain} without the conversation`)
      for (let turn = 0; turn < 6; turn += 1) t.equal((await ask(goOn)).status, 200)
      const credentials = new Set(
        upstream.requests.map(({ headers }) => headers[headers.indexOf('x-api-key') + 1]),
      )
      t.equal(credentials.size, 1, 'with the credential that began it')
      t.same(await gateway.breaches(), [])
    },
  )
}

await t.test('a message that was not to be stored is no object', async t => {
  const { upstream, ask } = await start(t)
  t.equal((await ask({})).status, 200)
  t.equal((await ask(goOn)).status, 404)
  t.equal(
    (await ask({ diagnostics: { previous_message_id: 'msg_1' } })).status,
    200,
    'a comparison is not a thread',
  )
  t.equal(upstream.requests.length, 2)
})
