import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import type { Response, ResponsesClientEvent } from 'openai/resources/responses/responses'
import t from 'tap'
import { reply, reported, reportedCharge, startEmulatedGateway } from '../fixtures/emulated-providers.ts'
import { until } from '../fixtures/until.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

interface Turn {
  readonly text: string
  readonly response: Response
}

/** Requests one response, and reads it to its end. */
async function ask(
  socket: ResponsesWS,
  event: Omit<ResponsesClientEvent.ResponseCreate, 'type'>,
): Promise<Turn> {
  socket.send({ type: 'response.create', ...event })
  let text = ''
  for await (const { type, ...rest } of socket) {
    if (type === 'error') throw (rest as { error: Error }).error
    if (type !== 'message') continue
    const { message } = rest as { message: { type: string; delta?: string; response?: Response } }
    if (message.type === 'response.output_text.delta') text += message.delta
    if (message.type === 'response.completed') return { text, response: message.response as Response }
  }
  throw new Error('The connection was closed.')
}

await t.test(
  "the SDK's turns over one connection have the same responses and charges as over HTTP",
  async t => {
    const gateway = await startEmulatedGateway(t)
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key })
    const overHttp = await client.responses.create({ model: 'gpt-5-mini', input: 'Hello' })
    t.equal(overHttp.output_text, reply)

    const socket = new ResponsesWS(client)
    t.teardown(() => socket.close())
    const input = [{ type: 'message' as const, role: 'user' as const, content: 'Hello' }]
    const first = await ask(socket, { model: 'gpt-5-mini', input, store: false })
    t.equal(first.text, reply)
    t.match(first.response.usage, {
      input_tokens: reported.input_tokens,
      output_tokens: reported.output_tokens,
    })
    const second = await ask(socket, {
      model: 'fast',
      input,
      store: false,
      previous_response_id: first.response.id,
    })
    t.equal(second.text, reply, 'an alias, with a previous response that only the connection knows')

    const charges = await gateway.charges()
    t.equal(charges.length, 3, 'the charge exists when the last event arrives')
    for (const charge of charges)
      t.match(charge, { ...reportedCharge, operation: 'responses', model: 'gpt-5-mini' })
    t.equal(new Set(charges.map(({ requestId }) => requestId)).size, 3, 'each turn is an exchange')
    t.same(
      charges.slice(1).map(charge => charge.providerRequestId),
      [first.response.id, second.response.id],
      'by this id a client finds the charge of a turn',
    )
    const sent = gateway.mock.getRequests().map(({ body }) => (body as { model: string }).model)
    t.same(sent, ['gpt-5-mini', 'gpt-5-mini', 'gpt-5-mini'], 'the alias was replaced')
    await noHoldIsLeft(t, gateway)
    t.same(await gateway.breaches(), [])
  },
)

await t.test('a tool call and its result go through one connection', async t => {
  const gateway = await startEmulatedGateway(t)
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key })
  const socket = new ResponsesWS(client)
  t.teardown(() => socket.close())
  const tools = [
    {
      type: 'function' as const,
      name: 'weather',
      strict: false,
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  ]
  const called = await ask(socket, { model: 'gpt-5-mini', tools, input: 'weather in Tver' })
  const call = called.response.output.find(item => item.type === 'function_call')
  t.match(call, { name: 'weather', arguments: '{"city":"Tver"}' })
  const final = await ask(socket, {
    model: 'gpt-5-mini',
    tools,
    previous_response_id: called.response.id,
    input: [
      { type: 'function_call_output', call_id: call?.call_id ?? '', output: 'snow' },
      { type: 'message', role: 'user', content: 'and now?' },
    ],
  })
  t.equal(final.text, reply)
  t.equal((await gateway.charges()).length, 2)
  t.same(await gateway.breaches(), [])
})

await t.test(
  'a refusal by the gateway is an SDK error with its status, and the connection stays open',
  async t => {
    const gateway = await startEmulatedGateway(t)
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key })
    const socket = new ResponsesWS(client)
    t.teardown(() => socket.close())
    const refused = async (event: Parameters<typeof ask>[1]): Promise<unknown> =>
      ask(socket, event).catch((error: unknown) => error)
    t.match(await refused({ model: 'gpt-5-mini', input: 'Hello', background: true }), {
      error: { status: 501, error: { code: 'not_supported', param: 'background' } },
    })
    t.match(await refused({ model: 'nobody', input: 'Hello' }), {
      error: { status: 404, error: { code: 'model_not_found' } },
    })
    t.equal((await ask(socket, { model: 'gpt-5-mini', input: 'Hello' })).text, reply)
    await until(async () => (await gateway.charges()).length === 1)
  },
)
