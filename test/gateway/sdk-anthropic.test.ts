import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import {
  checkCharge,
  lastSeen,
  reply,
  reportedCharge,
  settledBalance,
  startEmulatedGateway,
} from '../fixtures/emulated-providers.ts'
import { anthropicClient } from '../fixtures/sdk-clients.ts'

const gateway = await startEmulatedGateway(t)
const { mock } = gateway
const client = anthropicClient(gateway)
const message = {
  model: 'claude-haiku-4-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello' }],
} satisfies Anthropic.MessageCreateParamsNonStreaming
const charge = { ...reportedCharge, dialect: 'anthropic', operation: 'messages', model: 'claude-haiku-4-5' }

const balance = (): Promise<number> => settledBalance(gateway)
const idOf = (response: Response): string | null => response.headers.get('x-gateway-request-id')

await t.test('a message arrives whole and is charged', async t => {
  const before = await balance()
  const { data, response } = await client.messages.create(message).withResponse()
  t.match(data.content, [{ type: 'text', text: reply }])
  t.match(data.usage, { input_tokens: 1200, output_tokens: 34 })
  await checkCharge(t, gateway, idOf(response), charge, before)
})

await t.test('a streamed message arrives whole and is charged', async t => {
  const before = await balance()
  const { data, response } = await client.messages.create({ ...message, stream: true }).withResponse()
  const events: Anthropic.RawMessageStreamEvent[] = []
  for await (const event of data) events.push(event)
  t.equal(
    events
      .map(event =>
        event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '',
      )
      .join(''),
    reply,
  )
  t.equal(events.at(-1)?.type, 'message_stop')
  await checkCharge(t, gateway, idOf(response), charge, before)
})

await t.test('the SDK collects a whole message from a stream', async t => {
  const stream = client.messages.stream(message)
  t.equal(await stream.finalText(), reply)
  t.match((await stream.finalMessage()).usage, { output_tokens: 34 })
})

await t.test('tool calls arrive whole, streamed and not', async t => {
  const request = {
    ...message,
    messages: [{ role: 'user', content: 'weather?' }],
    tools: [{ name: 'weather', input_schema: { type: 'object' } }],
  } satisfies Anthropic.MessageCreateParamsNonStreaming
  const expected = [{ type: 'tool_use', name: 'weather', input: { city: 'Tver' } }]
  t.match((await client.messages.create(request)).content, expected)
  t.match((await client.messages.stream(request).finalMessage()).content, expected)
})

await t.test('a key works as an auth token too', async t => {
  const before = await balance()
  const bearer = new Anthropic({
    apiKey: null,
    authToken: gateway.key,
    baseURL: gateway.url,
    logLevel: 'off',
  })
  const { data, response } = await bearer.messages.create(message).withResponse()
  t.match(data.content, [{ text: reply }])
  await checkCharge(t, gateway, idOf(response), charge, before)
})

await t.test('beta headers reach the provider', async t => {
  const { data, response } = await client.beta.messages
    .create({ ...message, betas: ['context-1m-2025-08-07'] })
    .withResponse()
  t.match(data.content, [{ text: reply }])
  t.equal(lastSeen(mock).headers['anthropic-beta'], 'context-1m-2025-08-07')
  t.match(await gateway.chargeOf(idOf(response) ?? ''), charge)
})

await t.test('models are listed and retrieved', async t => {
  const names: string[] = []
  for await (const { id, type } of client.models.list()) names.push(`${type} ${id}`)
  t.same(names, ['model claude-haiku-4-5'])
  t.equal((await client.models.retrieve('claude-haiku-4-5')).id, 'claude-haiku-4-5')
})

await t.test('the SDK retries an overloaded provider, and the response is charged once', async t => {
  mock.nextRequestError(529, { message: 'Overloaded', type: 'overloaded_error' })
  const [before, seen] = [await balance(), mock.getRequests().length]
  const { data, response } = await client.messages.create(message).withResponse()
  t.match(data.content, [{ text: reply }])
  t.equal(mock.getRequests().length - seen, 2)
  await checkCharge(t, gateway, idOf(response), charge, before)
})
