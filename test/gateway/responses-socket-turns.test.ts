import t from 'tap'
import {
  answerAtOnce,
  chargesOf,
  rubPerMillion,
  startResponsesGateway,
  typesOf,
  usage,
  worstHeld,
  type AskedResponse,
} from '../fixtures/responses-socket.ts'
import { openSession } from '../fixtures/session-client.ts'
import { until } from '../fixtures/until.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

const create = { type: 'response.create', model: 'gpt-5', store: false, input: 'Hello' }
const charged = { usage: { input: 100, output: 50 }, amount: '0.200000', usageSource: 'provider', flags: [] }

await t.test('messages pass byte for byte, except for the name of an alias', async t => {
  const odd = (model: string): string =>
    `{ "type" : "response.create",\n "model":"${model}" , "input":"\\u0041 \u00e9", "x_own": [1e2, {}],\t"store":false}`
  const events = [
    '{"type":"response.created", "response": {"id":"resp_x","status":"in_progress"} ,"sequence_number":0}',
    '{\n  "type": "response.output_text.delta",\n  "delta": "\\u0041\u00e9"\n}',
    '{"type":"codex.rate_limits","of":"nobody"}',
    `{"type":"response.completed","response":{"id":"resp_x","usage":${JSON.stringify(usage)}}}`,
  ]
  const gateway = await startResponsesGateway(t, ({ session }) => {
    for (const event of events) session.socket.send(event)
  })
  const client = await gateway.connect(t)

  client.send(odd('gpt-5'))
  await until(() => client.received.length === 4)
  client.send(odd('fast'))
  await until(() => client.received.length === 8)

  t.same(gateway.upstream.sessions[0]?.received, [odd('gpt-5'), odd('gpt-5')])
  t.same(client.received, [...events, ...events])
  t.match(await chargesOf(gateway, 2), [charged, charged])
  t.same(await gateway.breaches(), [])
})

await t.test(
  'the hold is stored before the first event is relayed, and the charge before the last',
  async t => {
    let asked: AskedResponse | undefined
    const gateway = await startResponsesGateway(t, one => (asked = one))
    const client = await gateway.connect(t)

    client.send({ ...create, max_output_tokens: 400 })
    await until(() => asked !== undefined)
    asked?.begin()
    await client.next('response.created')
    const { heldMicros, worstMicros } = await gateway.balance()
    t.ok(heldMicros > 0, `${heldMicros} are held`)
    t.ok(worstMicros >= 400 * 2000 && worstMicros < 2_000_000, `the cap is counted: ${worstMicros} at worst`)
    asked?.complete()
    await client.next('response.completed')

    t.match(await gateway.charges(), [{ ...charged, operation: 'responses', providerRequestId: asked?.id }])
    await noHoldIsLeft(t, gateway)
    const lines = gateway.logLines.filter(line => line.includes('"operation":"responses"'))
    t.equal(lines.length, 1, 'a turn has a line of its own in the log')
    t.match(JSON.parse(lines[0] ?? ''), { connection: /^\w{26}$/, model: 'gpt-5', amount: '0.200000' })
  },
)

await t.test('images of a tool without a usage are charged by their quality, whole or cut', async t => {
  const tools = [{ type: 'image_generation', quality: 'high' }]
  const item = { type: 'image_generation_call', status: 'completed', quality: 'high', result: 'AAAA' }
  const sentEvents: string[] = []
  const gateway = await startResponsesGateway(
    t,
    asked => {
      const { id, body, session } = asked
      const say = (event: object): void => {
        sentEvents.push(JSON.stringify(event))
        session.socket.send(sentEvents.at(-1) ?? '')
      }
      say({ type: 'response.created', response: { id, status: 'in_progress', tools } })
      for (const _image of [1, 2]) {
        say({ type: 'response.image_generation_call.partial_image', partial_image_b64: 'AAAA' })
        say({ type: 'response.image_generation_call.completed' })
      }
      if (body['input'] === 'cut') session.socket.terminate()
      else
        say({
          type: 'response.completed',
          response: { id, status: 'completed', tools, output: [item, item], usage },
        })
    },
    {
      config: {
        models: {
          'gpt-5': { provider: 'openai', contextTokensMax: 100_000, outputTokensMax: 1000, rubPerMillion },
          'gpt-image-1': { provider: 'openai', rubPerMillion: { input: '500', imageOutput: '4000' } },
        },
      },
    },
  )
  const client = await gateway.connect(t)
  client.send({ ...create, tools, max_tool_calls: 2 })
  await client.next('response.completed')
  t.same(client.received, sentEvents)
  client.send({ ...create, tools, max_tool_calls: 2, input: 'cut' })
  await client.closed
  t.same(client.received.slice(0, -1), sentEvents)

  const [whole, cut] = await chargesOf(gateway, 2)
  // Two images of 6,240 tokens each, and the 0.2 roubles of the response.
  const used = { input: 100, output: 50, imageOutput: 12_480 }
  t.match(whole, { outcome: 'completed', usage: used, amount: '50.120000', flags: ['drawing_uncounted'] })
  t.match(cut, { outcome: 'broken', usageSource: 'estimated', usage: { imageOutput: 12_480 } })
  t.ok(Number(cut?.amount) > 49.92 && Number(cut?.amount) < 50, String(cut?.amount))
  t.same(await gateway.breaches(), [])
})

await t.test("the client's key is not forwarded, and the credential is sent", async t => {
  const gateway = await startResponsesGateway(t, answerAtOnce)
  const client = await openSession(t, gateway.socketUrl, {
    key: gateway.key,
    headers: { 'openai-beta': 'responses_websockets=2026-02-06', 'x-codex-window': '1' },
  })
  client.send(create)
  await client.next('response.completed')
  const { request } = gateway.upstream.sessions[0] ?? {}
  t.match(request?.headers, {
    authorization: 'Bearer provider-credential',
    'openai-beta': 'responses_websockets=2026-02-06',
    'x-codex-window': '1',
  })
  t.notOk(JSON.stringify(request?.rawHeaders).includes(gateway.key))
  t.equal(request?.url, '/v1/responses')
})

await t.test('a response that is not stored can be continued only in its connection', async t => {
  const worst: number[] = []
  const gateway = await startResponsesGateway(t, asked => {
    void worstHeld(gateway).then(worstMicros => {
      worst.push(worstMicros)
      asked.begin()
      asked.complete({ usage: { ...usage, input_tokens: 40_000, total_tokens: 40_050 } })
    })
  })
  const client = await gateway.connect(t)
  client.send(create)
  const first = (await client.next('response.completed')) as { response: { id: string } }

  const next = { ...create, previous_response_id: first.response.id }
  client.send(next)
  await until(() => typesOf(client).filter(type => type === 'response.completed').length === 2)
  t.ok((worst[1] ?? 0) - (worst[0] ?? 0) >= 40_050_000, `the previous response is held for: ${worst.join()}`)

  const other = await gateway.connect(t)
  other.send(next)
  t.match(await other.next('error'), {
    status: 400,
    error: { code: 'previous_response_not_found', param: 'previous_response_id' },
  })
  t.equal(gateway.upstream.sessions.length, 1, 'the provider received no second connection')
  other.send(create)
  await other.next('response.completed')
  t.equal((await chargesOf(gateway, 3)).length, 3)
})

await t.test(
  'a stored response can be continued in any connection of its account, and by no other account',
  async t => {
    const gateway = await startResponsesGateway(t, answerAtOnce)
    const { id: accountId } = await gateway.accounts.createAccount({ email: 'other@example.org' })
    await gateway.accounts.credit({ accountId, amountMicros: 1_000_000_000, reason: 'test' })
    const { key } = await gateway.accounts.createKey({ accountId })
    const stored = { type: 'response.create', model: 'gpt-5', input: 'Hello' }
    const client = await gateway.connect(t)
    client.send(stored)
    const first = (await client.next('response.completed')) as { response: { id: string } }
    const next = { ...stored, previous_response_id: first.response.id }

    const own = await gateway.connect(t)
    own.send(next)
    await own.next('response.completed')
    const foreign = await gateway.connect(t, key)
    foreign.send(next)
    const refused = await foreign.next('error')
    foreign.send({ ...next, previous_response_id: 'resp_unheard' })
    await until(() => foreign.received.length === 2)

    t.match(refused, { status: 400, error: { code: 'previous_response_not_found' } })
    t.equal(
      foreign.received[1],
      foreign.received[0]?.replace(first.response.id, 'resp_unheard'),
      "another's and an unknown one are refused alike",
    )
    t.equal(gateway.upstream.sessions.length, 2)
  },
)

await t.test('a request with generate: false is held for and charged for its input alone', async t => {
  let worstMicros = 0
  const gateway = await startResponsesGateway(t, asked => {
    void worstHeld(gateway).then(held => {
      worstMicros = held
      asked.begin()
      asked.complete({ output: [], usage: { input_tokens: 18, output_tokens: 0, total_tokens: 18 } })
    })
  })
  const client = await gateway.connect(t)
  client.send({ ...create, generate: false })
  const { response } = (await client.next('response.completed')) as { response: { id: string } }
  t.ok(worstMicros > 0 && worstMicros < 500_000, `no output is held for: ${worstMicros}`)
  client.send({ ...create, input: [], previous_response_id: response.id })
  await until(() => typesOf(client).filter(type => type === 'response.completed').length === 2)
  t.match(await chargesOf(gateway, 2), [
    { usage: { input: 18, output: 0 }, amount: '0.018000', flags: [] },
    {},
  ])
})

await t.test(
  'compaction in a turn is held for as over HTTP, and can be continued in the connection',
  async t => {
    const worst: number[] = []
    const gateway = await startResponsesGateway(t, asked => {
      void worstHeld(gateway).then(worstMicros => {
        worst.push(worstMicros)
        asked.begin()
        asked.say({ type: 'response.compaction.compacting', item_id: 'cmp_1' })
        asked.say({ type: 'response.output_item.done', item: { id: 'cmp_1', type: 'compaction' } })
        asked.complete()
      })
    })
    const client = await gateway.connect(t)
    client.send(create)
    const { response } = (await client.next('response.completed')) as { response: { id: string } }
    client.send({
      ...create,
      previous_response_id: response.id,
      context_management: [{ type: 'compaction', compact_threshold: 1000 }],
    })
    await until(() => typesOf(client).filter(type => type === 'response.completed').length === 2)
    t.ok((worst[1] ?? 0) > (worst[0] ?? 0) + 2_000_000, `the context is written once more: ${worst.join()}`)
    client.send({ ...create, input: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'AAAA' }] })
    await until(() => typesOf(client).filter(type => type === 'response.completed').length === 3)
    t.equal((await chargesOf(gateway, 3)).length, 3)
  },
)

await t.test('lanes run concurrently, and each response has its own charge', async t => {
  const asked: AskedResponse[] = []
  const gateway = await startResponsesGateway(t, one => asked.push(one))
  const client = await gateway.connect(t)
  client.send({ ...create, stream_id: 'a' })
  client.send({ ...create, stream_id: 'b', model: 'gpt-5-nano' })
  client.send(create)
  await until(() => asked.length === 3)
  for (const one of asked) one.begin()
  for (const one of asked) one.write('x')
  client.send({ ...create, stream_id: 'a' })
  await until(() => typesOf(client).includes('error'))
  const refusal = client.received.find(text => text.includes('"error"')) ?? ''
  t.match(JSON.parse(refusal), { status: 400, stream_id: 'a', error: { code: 'request_invalid' } })
  for (const [index, one] of asked.toReversed().entries()) {
    one.complete({ usage: { ...usage, output_tokens: 10 * (index + 1) } })
  }
  await until(() => typesOf(client).filter(type => type === 'response.completed').length === 3)

  const charges = await chargesOf(gateway, 3)
  t.same(
    charges.map(({ model, usage, providerRequestId }) => ({
      model,
      output: usage.output,
      providerRequestId,
    })),
    [
      { model: 'gpt-5', output: 10, providerRequestId: asked[2]?.id },
      { model: 'gpt-5-nano', output: 20, providerRequestId: asked[1]?.id },
      { model: 'gpt-5', output: 30, providerRequestId: asked[0]?.id },
    ],
  )
  t.equal(asked.length, 3, 'the fourth was not sent')
  client.send({ ...create, stream_id: 'a' })
  await until(() => asked.length === 4)
  t.same(await gateway.breaches(), [])
})

await t.test('cached input has its own price, as over HTTP', async t => {
  const gateway = await startResponsesGateway(t, ({ begin, complete }) => {
    begin()
    complete({ usage: { ...usage, input_tokens_details: { cached_tokens: 80 } } })
  })
  const client = await gateway.connect(t)
  client.send(create)
  await client.next('response.completed')
  t.match(await chargesOf(gateway, 1), [
    { usage: { input: 20, cachedInput: 80, output: 50 }, amount: '0.128000', flags: [] },
  ])
})
