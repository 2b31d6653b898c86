import { ApiError, GoogleGenAI } from '@google/genai'
import t from 'tap'
import { startSandboxProvider } from '../../../lib/sandbox/sandbox-provider.ts'

const sandbox = await startSandboxProvider()
t.teardown(() => sandbox.close())
const client = new GoogleGenAI({
  apiKey: 'any',
  apiVersion: 'v1beta',
  httpOptions: { baseUrl: sandbox.origin },
})
const request = { model: 'sandbox-gemini', contents: 'hello' }

async function post(method: string, body: unknown): Promise<Response> {
  return fetch(`${sandbox.origin}/v1beta/models/sandbox-gemini:${method}`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
}

await t.test('content echoes the last user text, and its usage adds up', async t => {
  const answer = await client.models.generateContent(request)
  const usage = answer.usageMetadata

  t.match(answer.text, /You said: hello$/)
  t.equal(answer.candidates?.[0]?.finishReason, 'STOP')
  t.equal(usage?.totalTokenCount, (usage?.promptTokenCount ?? 0) + (usage?.candidatesTokenCount ?? 0))
})

await t.test('the SDK also works with the stable path, its default', async t => {
  const stable = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: sandbox.origin } })
  const answer = await stable.models.generateContent(request)

  t.match(answer.text, /You said: hello$/)
})

await t.test('the usage of a stream grows to that of the whole response', async t => {
  const whole = await client.models.generateContent(request)
  const chunks = await Array.fromAsync(await client.models.generateContentStream(request))

  t.equal(chunks.map(chunk => chunk.text).join(''), whole.text)
  t.same(chunks.at(-1)?.usageMetadata, whole.usageMetadata)
  t.equal(chunks[0]?.usageMetadata?.candidatesTokenCount, 1)
  t.same(
    chunks.map(chunk => chunk.candidates?.[0]?.finishReason).filter(reason => reason !== undefined),
    ['STOP'],
  )
})

await t.test('the lines of an event stream end in CRLF, and there is no [DONE]', async t => {
  const response = await post('streamGenerateContent?alt=sse', { contents: [{ parts: [{ text: 'hello' }] }] })
  const text = await response.text()

  t.equal(response.headers.get('content-type'), 'text/event-stream')
  t.ok(text.endsWith('\r\n\r\n'))
  t.notMatch(text, /[^\r]\n/)
  t.notMatch(text, /\[DONE\]/)
})

await t.test('without alt=sse a stream is one JSON array', async t => {
  const response = await post('streamGenerateContent', { contents: [{ parts: [{ text: 'hello' }] }] })
  const chunks = (await response.json()) as readonly unknown[]

  t.match(response.headers.get('content-type'), /^application\/json/)
  t.ok(chunks.length > 5)
  t.match(chunks.at(-1), { candidates: [{ finishReason: 'STOP' }] })
})

await t.test('both spellings of the settings are read', async t => {
  const contents = [{ parts: [{ text: 'hello' }] }]
  for (const body of [
    { contents, generationConfig: { maxOutputTokens: 2, candidateCount: 2 } },
    { contents, generation_config: { max_output_tokens: 2, candidate_count: 2 } },
  ]) {
    const response = await post('generateContent', body)
    t.match(await response.json(), {
      candidates: [{ finishReason: 'MAX_TOKENS' }, { index: 1 }],
      usageMetadata: { candidatesTokenCount: 4 },
    })
  }
})

await t.test('countTokens returns the prompt tokens of a response', async t => {
  const count = await client.models.countTokens(request)
  const answer = await client.models.generateContent(request)

  t.equal(count.totalTokens, answer.usageMetadata?.promptTokenCount)
})

await t.test('an embedding has the requested size, and the same text has the same one', async t => {
  const embed = async (text: string) => {
    const answer = await client.models.embedContent({
      model: 'sandbox-embedding',
      contents: text,
      config: { outputDimensionality: 16 },
    })
    return answer.embeddings?.[0]?.values
  }

  t.equal((await embed('one'))?.length, 16)
  t.same(await embed('one'), await embed('one'))
  t.notSame(await embed('one'), await embed('two'))
})

await t.test('one content is embedded with its usage', async t => {
  const response = await post('embedContent', { content: { parts: [{ text: 'hello' }] } })

  t.match(await response.json(), { embedding: { values: Array }, usageMetadata: { promptTokenCount: 2 } })
})

await t.test('faults are the errors of the SDK, with the status in their text', async t => {
  const ask = (model: string) =>
    client.models.generateContent({ ...request, model }).catch((error: unknown) => error)
  const missing = await ask('gemini-unheard-of')
  t.type(missing, ApiError)
  t.match(missing, { status: 404, message: /NOT_FOUND/ })
  t.match(await ask('sandbox-error'), { status: 429, message: /RESOURCE_EXHAUSTED/ })
  const empty = await post('generateContent', { contents: [] })
  t.equal(empty.status, 400)
  t.match(await empty.json(), { error: { code: 400, status: 'INVALID_ARGUMENT' } })
  t.equal((await post('inventContent', {})).status, 404)
})
