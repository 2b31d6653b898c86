import { NotImplementedError } from '@anthropic-ai/sdk'
import { ApiError } from '@google/genai'
import OpenAI, { NotFoundError } from 'openai'
import t from 'tap'
import { checkServes, startCountingGateway } from '../fixtures/counting-gateway.ts'
import { anthropicClient, openaiClient } from '../fixtures/sdk-clients.ts'
import { until } from '../fixtures/test-gateway.ts'

const gateway = await startCountingGateway(t)
const openai = openaiClient(gateway)
const anthropic = anthropicClient(gateway)

const messages = [{ role: 'user' as const, content: 'Hi' }]
/** OpenRouter uses the next model where the first fails, for instance on a prompt that is too long for it. */
const models = { model: 'some-model', models: ['some-model', 'other-model'] } as { readonly model: string }

/** Calls that the gateway does not serve, by the SDKs' own methods, and the message of the refusal. */
const calls: readonly (readonly [string, RegExp, () => Promise<unknown>])[] = [
  [
    'openai: assistants',
    /shut .*responses/,
    () => openai.post('/assistants', { body: { model: 'some-model' } }),
  ],
  ['openai: threads', /shut .*conversations/, () => openai.post('/threads', { body: {} })],
  ['openai: fine-tuning', /Fine-tuning/, async () => openai.fineTuning.jobs.list()],
  [
    'openai: models to fall back on',
    /one model/,
    () => openai.chat.completions.create({ ...models, messages }),
  ],
  ['openai: models of a response', /one model/, () => openai.responses.create({ ...models, input: 'Hi' })],
  [
    'openai: models of a completion',
    /one model/,
    () => openai.completions.create({ ...models, prompt: 'Hi' }),
  ],
  [
    'anthropic: models to fall back on',
    /one model/,
    () => anthropic.messages.create({ ...models, max_tokens: 9, messages }),
  ],
]

for (const [what, message, call] of calls) {
  await t.test(`${what} are refused with 501 once, and nothing is forwarded`, async t => {
    const before = gateway.exchangeCount()
    const error = await call().catch((error: unknown) => error)
    if (what.startsWith('openai')) {
      t.ok(error instanceof OpenAI.InternalServerError, String(error))
      t.match(error, { status: 501, type: 'invalid_request_error', code: 'not_supported', message })
    } else if (what.startsWith('anthropic')) {
      t.ok(error instanceof NotImplementedError, String(error))
      t.match(error, { status: 501, type: 'invalid_request_error', apiMessage: message })
    } else {
      t.ok(error instanceof ApiError, String(error))
      t.match(error, { status: 501, message: /"status":"UNIMPLEMENTED"/ })
      t.match(error, { message })
    }
    await until(() => gateway.exchangeCount() > before)
    t.equal(gateway.exchangeCount(), before + 1, 'the SDK sent it once')
    t.equal(gateway.upstream.requests.length, 0)
  })
}

await t.test("an unknown object is not found, in the provider's error format", async t => {
  const error = await openai.responses.retrieve('resp_of_somebody_else').catch((error: unknown) => error)
  t.ok(error instanceof NotFoundError, String(error))
  t.match(error, { status: 404, message: /resp_of_somebody_else/ })
  t.equal(gateway.upstream.requests.length, 0)
})

await t.test('a WebSocket session is refused before it opens', async t => {
  for (const path of ['/v1/realtime?model=gpt-realtime', '/v1/responses', '/ws/google.ai']) {
    const socket = new WebSocket(gateway.url.replace('http', 'ws') + path, [
      'realtime',
      `openai-insecure-api-key.${gateway.key}`,
    ])
    const event = await new Promise<string>(resolve => {
      socket.addEventListener('open', () => resolve('open'))
      socket.addEventListener('error', () => resolve('error'))
    })
    t.equal(event, 'error', path)
  }
  t.equal(gateway.upstream.requests.length, 0)
})

await t.test('nothing was charged, and the gateway still accepts requests', async t => {
  t.same(await gateway.charges(), [])
  t.equal((await gateway.balance()).availableMicros, 1_000_000_000)
  await checkServes(t, gateway, 'openai')
  await checkServes(t, gateway, 'anthropic')
  await checkServes(t, gateway, 'google')
  t.same(await gateway.breaches(), [])
})
