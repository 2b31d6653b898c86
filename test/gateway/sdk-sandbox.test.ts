import { RateLimitError } from '@anthropic-ai/sdk'
import t from 'tap'
import { anthropicClient, googleClientAtItsVersion, openaiClient } from '../fixtures/sdk-clients.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

// Operations that the emulated providers lack, at the built-in sandbox.
const rubPerMillion = { input: '100', output: '1000' }
const gateway = await startTestGateway(t, {
  config: {
    providers: { sandbox: {} },
    models: {
      'sandbox-chat': { provider: 'sandbox', outputTokensMax: 1000, rubPerMillion },
      'sandbox-embedding': { provider: 'sandbox', rubPerMillion },
      'sandbox-error': { provider: 'sandbox', outputTokensMax: 1000, rubPerMillion },
      'sandbox-slow': { provider: 'sandbox', outputTokensMax: 1000, rubPerMillion },
    },
  },
})
const openai = openaiClient(gateway)
const anthropic = anthropicClient(gateway)
const google = googleClientAtItsVersion(gateway)
const message = { model: 'sandbox-chat', messages: [{ role: 'user' as const, content: 'Hello there' }] }

await t.test('counting tokens is free', async t => {
  const counts = [
    (await anthropic.messages.countTokens(message)).input_tokens,
    (await google.models.countTokens({ model: 'sandbox-chat', contents: 'Hello there' })).totalTokens,
  ]
  t.ok(
    counts.every(count => Number(count) > 0),
    String(counts),
  )
  t.same(await gateway.charges(), [])
  t.equal((await gateway.balance()).availableMicros, 1_000_000_000)
})

await t.test('one text and many are embedded by Google’s SDK, and charged', async t => {
  for (const contents of ['Hello', ['Hello', 'there', 'and again']]) {
    const answer = await google.models.embedContent({ model: 'sandbox-embedding', contents })
    t.equal(answer.embeddings?.length, Array.isArray(contents) ? contents.length : 1)
    const charge = await gateway.chargeOf(answer.sdkHttpResponse?.headers?.['x-gateway-request-id'] ?? '')
    t.ok(Number(charge?.amount) > 0, JSON.stringify(charge))
    t.equal(charge?.dialect, 'google')
  }
})

await t.test('a stream that requests no usage is charged by the usage of the sandbox', async t => {
  const { data, response } = await openai.chat.completions.create({ ...message, stream: true }).withResponse()
  let text = ''
  for await (const chunk of data) text += chunk.choices[0]?.delta.content ?? ''

  t.match(text, /Hello there/)
  const charge = await gateway.chargeOf(response.headers.get('x-gateway-request-id') ?? '')
  t.match(charge, { outcome: 'completed', usageSource: 'provider', flags: [] })
})

await t.test('a stream that its client leaves is charged, and its hold is released', async t => {
  const { data, response } = await openai.chat.completions
    .create({ ...message, model: 'sandbox-slow', stream: true })
    .withResponse()
  let count = 0
  for await (const chunk of data) {
    count += chunk.choices.length
    if (count === 3) break
  }
  const charge = await gateway.chargeOf(response.headers.get('x-gateway-request-id') ?? '')
  t.equal(charge?.outcome, 'aborted')
  t.ok(Number(charge?.amount) > 0, JSON.stringify(charge))
  t.same(await gateway.breaches(), [])
  await until(async () => (await gateway.balance()).heldMicros === 0)
})

await t.test('an error of the provider raises the SDK’s own error, and costs nothing', async t => {
  const before = (await gateway.charges()).length
  const failing = anthropic.withOptions({ maxRetries: 0 })
  const error = await failing.messages
    .create({ ...message, model: 'sandbox-error', max_tokens: 5 })
    .catch((error: unknown) => error)
  t.ok(error instanceof RateLimitError)
  t.match(error, { status: 429, type: 'rate_limit_error' })
  const charges = await gateway.charges()
  t.equal(charges.length, before + 1)
  t.match(charges.at(-1), { amount: '0.000000', flags: ['provider_refused'] })
  await until(async () => (await gateway.balance()).heldMicros === 0)
})
