import { hash } from 'node:crypto'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import OpenAI, { BadRequestError, NotFoundError, RateLimitError, toFile } from 'openai'
import t from 'tap'
import { startSandboxProvider } from '../../../lib/sandbox/sandbox-provider.ts'

const sandbox = await startSandboxProvider({ paceMs: 5 })
t.teardown(() => sandbox.close())
const client = new OpenAI({ apiKey: 'any', baseURL: `${sandbox.origin}/v1`, maxRetries: 0 })
const messages = [{ role: 'user' as const, content: 'Привет, sandbox' }]

await t.test('a chat completion echoes the last user text, and its usage adds up', async t => {
  const answer = await client.chat.completions.create({ model: 'sandbox-chat', messages })

  t.match(answer.choices[0]?.message.content, /sandbox, not a model.*Привет, sandbox$/)
  t.equal(answer.choices[0]?.finish_reason, 'stop')
  const usage = answer.usage
  t.ok(usage && usage.prompt_tokens > 0 && usage.completion_tokens > 5)
  t.equal(usage?.total_tokens, (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))
})

await t.test('the streamed text and usage are those of the whole response', async t => {
  const whole = await client.chat.completions.create({ model: 'sandbox-chat', messages })

  const stream = await client.chat.completions.create({
    model: 'sandbox-chat',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = await Array.fromAsync(stream)

  t.equal(
    chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join(''),
    whole.choices[0]?.message.content,
  )
  t.same(chunks.at(-1)?.choices, [])
  t.same(chunks.at(-1)?.usage, whole.usage)
  t.ok(chunks.slice(0, -1).every(chunk => chunk.usage === null))
})

await t.test('a stream without include_usage has no usage, and ends with [DONE]', async t => {
  const response = await fetch(`${sandbox.origin}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sandbox-chat', messages, stream: true }),
  })
  const text = await response.text()

  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.notMatch(text, /usage/)
  t.ok(text.endsWith('data: [DONE]\n\n'))
})

await t.test('max_tokens cuts the response and n multiplies the output', async t => {
  const answer = await client.chat.completions.create({
    model: 'sandbox-chat',
    messages,
    max_tokens: 3,
    n: 2,
  })

  t.same(
    answer.choices.map(choice => [choice.finish_reason, choice.message.content]),
    [
      ['length', 'This is the'],
      ['length', 'This is the'],
    ],
  )
  t.equal(answer.usage?.completion_tokens, 6)
})

await t.test('a legacy completion is returned whole and streamed', async t => {
  const request = { model: 'sandbox-text', prompt: 'hello', max_tokens: 100 }
  const whole = await client.completions.create(request)
  const chunks = await Array.fromAsync(await client.completions.create({ ...request, stream: true }))

  t.match(whole.choices[0]?.text, /You said: hello$/)
  t.equal(chunks.map(chunk => chunk.choices[0]?.text).join(''), whole.choices[0]?.text)
})

await t.test('a response is returned whole, with usage and output text', async t => {
  const answer = await client.responses.create({ model: 'sandbox-chat', input: 'hello' })

  t.equal(answer.status, 'completed')
  t.match(answer.output_text, /You said: hello$/)
  const usage = answer.usage
  t.equal(usage?.total_tokens, (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0))
})

await t.test('a streamed response numbers its events and completes with usage', async t => {
  const stream = await client.responses.create({ model: 'sandbox-chat', input: 'hello', stream: true })
  const events = await Array.fromAsync(stream)

  t.same(
    events.map(event => event.sequence_number),
    events.map((_, index) => index),
  )
  t.equal(events[0]?.type, 'response.created')
  const last = events.at(-1)
  t.equal(last?.type, 'response.completed')
  t.ok(last?.type === 'response.completed' && last.response.usage?.output_tokens)
  const deltas = events.map(event => (event.type === 'response.output_text.delta' ? event.delta : ''))
  t.match(deltas.join(''), /You said: hello$/)
})

await t.test('a response cut by max_output_tokens is incomplete', async t => {
  const stream = await client.responses.create({
    model: 'sandbox-chat',
    input: 'hello',
    stream: true,
    max_output_tokens: 2,
  })
  const last = (await Array.fromAsync(stream)).at(-1)

  t.equal(last?.type, 'response.incomplete')
  t.ok(last?.type === 'response.incomplete' && last.response.usage?.output_tokens === 2)
})

await t.test('embeddings are the same numbers as floats and as base64', async t => {
  const request = { model: 'sandbox-embedding', input: ['one', 'two'], dimensions: 8 }
  const floats = await client.embeddings.create({ ...request, encoding_format: 'float' })
  const packed = await client.embeddings.create(request)

  t.equal(floats.data.length, 2)
  t.equal(floats.data[0]?.embedding.length, 8)
  t.notSame(floats.data[0]?.embedding, floats.data[1]?.embedding)
  const difference = floats.data[0]?.embedding.map(
    (value, index) => value - (packed.data[0]?.embedding[index] ?? 9),
  )
  t.ok(difference?.every(value => Math.abs(value) < 1e-6))
  t.equal(floats.usage.total_tokens, 2)
})

await t.test('an image is a PNG with usage', async t => {
  const answer = await client.images.generate({ model: 'sandbox-image', prompt: 'a cat' })
  const png = Buffer.from(answer.data?.[0]?.b64_json ?? '', 'base64')

  t.equal(png.toString('latin1', 1, 4), 'PNG')
  t.equal(png.toString('latin1', png.length - 8, png.length - 4), 'IEND')
  t.equal(answer.usage?.total_tokens, 274)
})

await t.test('speech is a WAV, which transcription measures', async t => {
  const speech = await client.audio.speech.create({ model: 'sandbox-speech', voice: 'alloy', input: 'hello' })
  const wav = Buffer.from(await speech.arrayBuffer())
  const file = await toFile(wav, 'speech.wav')
  const byTokens = await client.audio.transcriptions.create({ model: 'sandbox-transcribe', file })
  const bySeconds = await client.audio.transcriptions.create({ model: 'sandbox-whisper', file })

  t.equal(wav.toString('latin1', 8, 12), 'WAVE')
  t.equal(wav.readUInt32LE(40), wav.length - 44)
  t.match(byTokens.text, /1644 bytes$/)
  t.match(byTokens.usage, { type: 'tokens', input_tokens: 1 })
  t.same(bySeconds.usage, { type: 'duration', seconds: 1 })
})

await t.test('a transcription streams deltas and then its usage', async t => {
  const file = await toFile(Buffer.alloc(16_000), 'speech.mp3')
  const stream = await client.audio.transcriptions.create({ model: 'sandbox-transcribe', file, stream: true })
  const events = await Array.fromAsync(stream)
  const last = events.at(-1)

  t.ok(last?.type === 'transcript.text.done' && last.usage?.input_tokens === 10)
})

await t.test('moderation flags nothing', async t => {
  const answer = await client.moderations.create({ model: 'sandbox-moderation', input: ['a', 'b'] })

  t.same(
    answer.results.map(result => result.flagged),
    [false, false],
  )
})

await t.test('faults are the typed errors of the SDK', async t => {
  const ask = (model: string, list: typeof messages = messages) =>
    client.chat.completions.create({ model, messages: list }).catch((error: unknown) => error)

  const missing = await ask('gpt-unheard-of')
  t.type(missing, NotFoundError)
  t.match(missing, { status: 404, code: 'model_not_found', param: 'model' })
  t.type(await ask('sandbox-error'), RateLimitError)
  t.type(await ask('sandbox-chat', []), BadRequestError)
  t.type(await client.responses.retrieve('resp_unheard_of').catch((error: unknown) => error), NotFoundError)
})

await t.test('the slow model sends its response frame by frame, with the same bytes', async t => {
  const request = { messages, stream: true as const }
  const chunks: string[] = []
  const started = performance.now()
  for await (const chunk of await client.chat.completions.create({ ...request, model: 'sandbox-slow' })) {
    chunks.push(chunk.choices[0]?.delta.content ?? '')
  }
  const tookMs = performance.now() - started
  const fast = await client.chat.completions.create({ messages, model: 'sandbox-chat' })

  t.ok(tookMs > chunks.length * 4, `${chunks.length} frames took ${Math.round(tookMs)} ms`)
  t.equal(hash('sha256', chunks.join('')), hash('sha256', fast.choices[0]?.message.content ?? ''))
})

await t.test('a client that leaves a slow stream stops it, and the sandbox can still close', async t => {
  const slow = await startSandboxProvider({ paceMs: 10_000 })
  const leaving = new AbortController()
  const response = await fetch(`${slow.origin}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sandbox-slow', messages, stream: true }),
    signal: leaving.signal,
  })
  leaving.abort()

  await t.rejects(response.text(), { name: 'AbortError' })
  await t.resolves(slow.close())
})

await t.test('compressed request bodies are accepted', async t => {
  const body = Buffer.from(JSON.stringify({ model: 'sandbox-chat', input: 'squeezed' }))
  const packed = {
    zstd: zstdCompressSync(body),
    gzip: gzipSync(body),
    br: brotliCompressSync(body),
    deflate: deflateSync(body),
  }
  for (const [encoding, bytes] of Object.entries(packed)) {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
    const answer = await fetch(`${sandbox.origin}/v1/responses`, { method: 'POST', headers, body: bytes })
    t.equal(answer.status, 200, encoding)
    t.match(await answer.text(), /You said: squeezed/, encoding)
  }
  const broken = await fetch(`${sandbox.origin}/v1/responses`, {
    method: 'POST',
    headers: { 'content-encoding': 'gzip' },
    body,
  })
  t.equal(broken.status, 400)
})
