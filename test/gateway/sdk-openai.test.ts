import type OpenAI from 'openai'
import t from 'tap'
import {
  checkCharge,
  lastSeen,
  reply,
  reportedCharge,
  settledBalance,
  startEmulatedGateway,
} from '../fixtures/emulated-providers.ts'
import { openaiClient } from '../fixtures/sdk-clients.ts'
import { png } from '../fixtures/small-images.ts'

const gateway = await startEmulatedGateway(t)
const { mock } = gateway
const client = openaiClient(gateway)
const chat = {
  model: 'gpt-5-mini',
  messages: [{ role: 'user', content: 'Hello' }],
} satisfies OpenAI.ChatCompletionCreateParamsNonStreaming

const balance = (): Promise<number> => settledBalance(gateway)
const idOf = (response: Response): string | null => response.headers.get('x-gateway-request-id')

await t.test('a chat arrives whole and is charged', async t => {
  const before = await balance()
  const { data, response } = await client.chat.completions.create(chat).withResponse()
  t.equal(data.choices[0]?.message.content, reply)
  t.equal(data.usage?.total_tokens, 1234)
  await checkCharge(
    t,
    gateway,
    idOf(response),
    { ...reportedCharge, operation: 'chat', model: 'gpt-5-mini' },
    before,
  )
})

await t.test('a response is charged by the time it ends', async t => {
  let balance = (await gateway.balance()).balanceMicros
  for (let count = 0; count < 50; count++) {
    await client.chat.completions.create(chat)
    const after = (await gateway.balance()).balanceMicros
    t.equal(after, balance - 154_000)
    balance = after
  }
})

await t.test('a streamed chat that requests no usage receives none, and is charged by it', async t => {
  const before = await balance()
  const { data, response } = await client.chat.completions.create({ ...chat, stream: true }).withResponse()
  const chunks: OpenAI.ChatCompletionChunk[] = []
  for await (const chunk of data) chunks.push(chunk)
  t.equal(chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join(''), reply)
  t.ok(
    chunks.every(chunk => chunk.choices.length === 1 && !('usage' in chunk)),
    'as if no usage had been requested',
  )
  t.match(lastSeen(mock).body, { stream_options: { include_usage: true } }, 'the gateway requested it')
  await checkCharge(t, gateway, idOf(response), reportedCharge, before)
})

await t.test('a streamed chat that requests usage receives it', async t => {
  const before = await balance()
  const { data, response } = await client.chat.completions
    .create({ ...chat, stream: true, stream_options: { include_usage: true } })
    .withResponse()
  const chunks: OpenAI.ChatCompletionChunk[] = []
  for await (const chunk of data) chunks.push(chunk)
  t.match(chunks.at(-1), { choices: [], usage: { prompt_tokens: 1200, completion_tokens: 34 } })
  await checkCharge(t, gateway, idOf(response), reportedCharge, before)
})

await t.test('tool calls arrive whole, streamed and not', async t => {
  const request = {
    ...chat,
    messages: [{ role: 'user', content: 'weather?' }],
    tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }],
  } satisfies OpenAI.ChatCompletionCreateParamsNonStreaming
  const expected = [{ function: { name: 'weather', arguments: '{"city":"Tver"}' } }]
  const plain = await client.chat.completions.create(request)
  t.match(plain.choices[0]?.message.tool_calls, expected)
  const streamed = await client.chat.completions.stream(request).finalChatCompletion()
  t.match(streamed.choices[0]?.message.tool_calls, expected)
})

await t.test('a response arrives whole and is charged', async t => {
  const before = await balance()
  const { data, response } = await client.responses
    .create({ model: 'gpt-5-mini', input: 'Hello' })
    .withResponse()
  t.equal(data.output_text, reply)
  await checkCharge(t, gateway, idOf(response), { ...reportedCharge, operation: 'responses' }, before)
})

await t.test('a streamed response arrives whole and is charged', async t => {
  const before = await balance()
  const { data, response } = await client.responses
    .create({ model: 'gpt-5-mini', input: 'Hello', stream: true })
    .withResponse()
  const events: OpenAI.Responses.ResponseStreamEvent[] = []
  for await (const event of data) events.push(event)
  const text = events.map(event => (event.type === 'response.output_text.delta' ? event.delta : ''))
  t.equal(text.join(''), reply)
  t.equal(events.at(-1)?.type, 'response.completed')
  await checkCharge(t, gateway, idOf(response), { ...reportedCharge, operation: 'responses' }, before)
})

await t.test('embeddings pass in base64, as the SDK requests them', async t => {
  const before = await balance()
  const { data, response } = await client.embeddings
    .create({ model: 'text-embedding-3-small', input: 'Hello' })
    .withResponse()
  t.same(data.data[0]?.embedding, [0.25, -0.5])
  // The emulator reports no tokens for embeddings, so the gateway counts them and flags the charge.
  const expected = {
    operation: 'embeddings',
    usage: { input: 4, output: 0 },
    amount: '0.000400',
    usageSource: 'estimated',
    flags: ['usage_zero', 'usage_missing'],
  }
  await checkCharge(t, gateway, idOf(response), expected, before)
})

await t.test('an image is charged by the piece', async t => {
  const before = await balance()
  const { data, response } = await client.images
    .generate({ model: 'dall-e-3', prompt: 'A fox' })
    .withResponse()
  t.equal(Buffer.from(data.data?.[0]?.b64_json ?? '', 'base64').toString(), 'image')
  const expected = { operation: 'image-generations', usage: { images: 1 }, amount: '4.000000' }
  await checkCharge(t, gateway, idOf(response), expected, before)
})

await t.test('an edit of an image, sent as a form, is charged by the piece', async t => {
  const before = await balance()
  const image = new File([new Uint8Array(png(2, 2))], 'fox.png', { type: 'image/png' })
  const { data, response } = await client.images
    .edit({ model: 'dall-e-3', image, prompt: 'A fox' })
    .withResponse()
  t.equal(data.data?.length, 1)
  const expected = { operation: 'image-edits', usage: { images: 1 }, amount: '4.000000' }
  await checkCharge(t, gateway, idOf(response), expected, before)
})

await t.test('speech is charged by the characters spoken', async t => {
  const before = await balance()
  const { data, response } = await client.audio.speech
    .create({ model: 'tts-1', voice: 'alloy', input: 'Привет' })
    .withResponse()
  t.equal(Buffer.from(await data.arrayBuffer()).toString(), 'audio')
  const expected = { operation: 'speech', usage: { characters: 6 }, amount: '0.000600' }
  await checkCharge(t, gateway, idOf(response), expected, before)
})

await t.test('transcriptions and translations are charged by the second', async t => {
  const file = new File([Buffer.from('RIFF....WAVE')], 'a.wav', { type: 'audio/wav' })
  let before = await balance()
  const spoken = await client.audio.transcriptions
    .create({ model: 'whisper-1', file, response_format: 'verbose_json' })
    .withResponse()
  t.equal(spoken.data.text, 'spoken words')
  const transcribed = { operation: 'transcriptions', usage: { audioSeconds: 3.2 }, amount: '0.032000' }
  await checkCharge(t, gateway, idOf(spoken.response), transcribed, before)

  before = await balance()
  const translated = await client.audio.translations
    .create({ model: 'whisper-1', file, response_format: 'verbose_json' })
    .withResponse()
  t.equal(translated.data.text, 'translated words')
  const expected = { operation: 'translations', usage: { audioSeconds: 4.5 }, amount: '0.045000' }
  await checkCharge(t, gateway, idOf(translated.response), expected, before)
})

await t.test('moderation is free', async t => {
  const before = (await gateway.charges()).length
  const { data, response } = await client.moderations
    .create({ model: 'omni-moderation-latest', input: 'Hello' })
    .withResponse()
  t.equal(data.results[0]?.flagged, false)
  t.equal(await gateway.chargeOf(idOf(response) ?? ''), undefined)
  t.equal((await gateway.charges()).length, before)
})

await t.test('a request below the path of a provider goes to that provider', async t => {
  const before = await balance()
  const { data, response } = await openaiClient(gateway, '/groq/v1')
    .chat.completions.create({ ...chat, model: 'llama-3.3-70b-versatile' })
    .withResponse()
  t.equal(data.choices[0]?.message.content, reply)
  await checkCharge(t, gateway, idOf(response), { ...reportedCharge, provider: 'groq' }, before)
})

await t.test('the name of a model selects its provider on the common path', async t => {
  for (const [model, provider] of [
    ['gpt-5-mini', 'openai'],
    ['claude-haiku-4-5', 'anthropic'],
    ['gemini-2.5-flash', 'google'],
  ] as const) {
    const before = await balance()
    const { data, response } = await client.chat.completions.create({ ...chat, model }).withResponse()
    t.equal(data.choices[0]?.message.content, reply)
    await checkCharge(t, gateway, idOf(response), { ...reportedCharge, provider, model }, before)
  }
})

await t.test('an alias is another name for a model', async t => {
  const before = await balance()
  const { data, response } = await client.chat.completions.create({ ...chat, model: 'fast' }).withResponse()
  t.equal(data.choices[0]?.message.content, reply)
  t.match(lastSeen(mock).body, { model: 'gpt-5-mini' }, 'the provider receives its own name of the model')
  await checkCharge(t, gateway, idOf(response), { ...reportedCharge, model: 'gpt-5-mini' }, before)
})

await t.test('models are listed and retrieved', async t => {
  const names: string[] = []
  for await (const { id } of client.models.list()) names.push(id)
  t.ok(['gpt-5-mini', 'claude-haiku-4-5', 'fast'].every(name => names.includes(name)))
  t.notOk(names.includes('omni-moderation-latest') || names.some(name => name.includes('*')))
  t.equal((await client.models.retrieve('gpt-5-mini')).id, 'gpt-5-mini')
})

await t.test('the SDK retries a refusal by the provider, and the response is charged once', async t => {
  mock.nextRequestError(429, { message: 'Slow down', type: 'rate_limit_error', code: 'rate_limit_exceeded' })
  const [before, seen] = [await balance(), mock.getRequests().length]
  const { data, response } = await client.chat.completions.create(chat).withResponse()
  t.equal(data.choices[0]?.message.content, reply)
  t.equal(mock.getRequests().length - seen, 2)
  await checkCharge(t, gateway, idOf(response), reportedCharge, before)
})
