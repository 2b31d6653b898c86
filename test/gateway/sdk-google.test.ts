import t from 'tap'
import {
  checkCharge,
  lastSeen,
  reply,
  reportedCharge,
  settledBalance,
  startEmulatedGateway,
} from '../fixtures/emulated-providers.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { googleClient, googleClientAtItsVersion } from '../fixtures/sdk-clients.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const gateway = await startEmulatedGateway(t)
const { mock } = gateway
const client = googleClient(gateway)
const request = { model: 'gemini-2.5-flash', contents: 'Hello' }
const charge = { ...reportedCharge, dialect: 'google', model: 'gemini-2.5-flash' }

const balance = (): Promise<number> => settledBalance(gateway)

interface WithHttpResponse {
  readonly sdkHttpResponse?: { readonly headers?: Record<string, string> }
}

function idOf(answer: WithHttpResponse | undefined): string | undefined {
  return answer?.sdkHttpResponse?.headers?.['x-gateway-request-id']
}

await t.test('generated content arrives whole and is charged', async t => {
  const before = await balance()
  const answer = await client.models.generateContent(request)
  t.equal(answer.text, reply)
  t.equal(answer.usageMetadata?.totalTokenCount, 1234)
  await checkCharge(t, gateway, idOf(answer), { ...charge, operation: 'generate-content' }, before)
})

await t.test('streamed content arrives whole and is charged', async t => {
  const before = await balance()
  let [text, id] = ['', '']
  for await (const chunk of await client.models.generateContentStream(request)) {
    text += chunk.text ?? ''
    id = idOf(chunk) ?? ''
  }
  t.equal(text, reply)
  t.equal(lastSeen(mock).path, '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse')
  await checkCharge(t, gateway, id, { ...charge, operation: 'stream-generate-content' }, before)
})

await t.test('a function call arrives whole', async t => {
  const answer = await client.models.generateContent({
    ...request,
    contents: 'weather?',
    config: { tools: [{ functionDeclarations: [{ name: 'weather' }] }] },
  })
  t.match(answer.functionCalls, [{ name: 'weather', args: { city: 'Tver' } }])
})

await t.test('a chat keeps its turns', async t => {
  const chat = client.chats.create({ model: request.model })
  await chat.sendMessage({ message: 'Hello' })
  await chat.sendMessage({ message: 'And again' })
  t.equal(chat.getHistory().length, 4)
  t.equal((lastSeen(mock).body as unknown as { messages: unknown[] }).messages.length, 3)
})

await t.test('an interaction arrives whole and is charged', async t => {
  const before = await balance()
  const answer = await client.interactions.create({
    model: 'gemini-2.5-flash',
    input: 'Hello',
    stream: false,
  })
  t.match(JSON.stringify(answer.steps), reply)
  const id = (answer as WithHttpResponse).sdkHttpResponse?.headers?.['x-gateway-request-id']
  await checkCharge(t, gateway, id, { ...charge, operation: 'interactions' }, before)
})

await t.test('models are listed and retrieved', async t => {
  const names: string[] = []
  for await (const model of await client.models.list()) names.push(model.name ?? '')
  t.same(names, ['models/gemini-2.5-flash'])
  t.equal((await client.models.get({ model: 'gemini-2.5-flash' })).name, 'models/gemini-2.5-flash')
})

await t.test('the SDK’s own API version is kept at the provider', async t => {
  const answer = {
    candidates: [{ content: { role: 'model', parts: [{ text: reply }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 3, totalTokenCount: 15 },
  }
  const upstream = await startRawUpstream(t, ({ path }) =>
    path.includes('alt=sse')
      ? plainAnswer(200, ['content-type', 'text/event-stream'], `data: ${JSON.stringify(answer)}\r\n\r\n`)
      : plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(answer)),
  )
  const gateway = await startTestGateway(t, {
    config: {
      providers: {
        google: {
          credentials: ['provider-credential'],
          dialects: { google: { baseUrl: `${upstream.origin}/v1beta` } },
        },
      },
      models: {
        'gemini-2.5-flash': {
          provider: 'google',
          outputTokensMax: 100,
          rubPerMillion: { input: '100', output: '1000' },
        },
      },
    },
  })
  const expected = { model: 'gemini-2.5-flash', usage: { input: 12, output: 3 }, amount: '0.004200' }
  const client = googleClientAtItsVersion(gateway)

  const plain = await client.models.generateContent(request)
  t.equal(plain.text, reply)
  await checkCharge(t, gateway, idOf(plain), expected, 1_000_000_000)

  const streamed = []
  for await (const chunk of await client.models.generateContentStream(request)) streamed.push(chunk)
  t.equal(streamed.map(chunk => chunk.text).join(''), reply)
  await checkCharge(t, gateway, idOf(streamed[0]), expected, 1_000_000_000 - 4200)

  t.same(
    upstream.requests.map(({ path }) => path),
    [
      '/v1/models/gemini-2.5-flash:generateContent',
      '/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    ],
  )
})
