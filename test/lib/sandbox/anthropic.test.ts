import Anthropic, { BadRequestError, NotFoundError, RateLimitError } from '@anthropic-ai/sdk'
import t from 'tap'
import { startSandboxProvider } from '../../../lib/sandbox/sandbox-provider.ts'

const sandbox = await startSandboxProvider()
t.teardown(() => sandbox.close())
const client = new Anthropic({ apiKey: 'any', baseURL: sandbox.origin, maxRetries: 0 })
const request = {
  model: 'sandbox-messages',
  max_tokens: 100,
  system: 'Be short.',
  messages: [{ role: 'user' as const, content: 'hello' }],
}

await t.test('a message echoes the last user text, with usage', async t => {
  const answer = await client.messages.create(request)

  t.match(answer.content, [{ type: 'text', text: /You said: hello$/ }])
  t.equal(answer.stop_reason, 'end_turn')
  t.equal(answer.usage.input_tokens, Math.ceil('Be short.hello'.length / 4))
  t.ok(answer.usage.output_tokens > 5)
})

await t.test('a stream accumulates to the same message and usage', async t => {
  const whole = await client.messages.create(request)
  const streamed = await client.messages.stream(request).finalMessage()

  t.same(streamed.content, whole.content)
  t.equal(streamed.usage.output_tokens, whole.usage.output_tokens)
  t.equal(streamed.usage.input_tokens, whole.usage.input_tokens)
})

await t.test('the events come in the order of the provider', async t => {
  const stream = await client.messages.create({ ...request, max_tokens: 2, stream: true })
  const events = await Array.fromAsync(stream)

  // The SDK does not pass pings on.
  t.same(
    events.map(event => event.type).filter((type: string) => type !== 'ping'),
    [
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ],
  )
  t.match(events.at(-2), { delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 2 } })
})

await t.test('the name of every event is its type', async t => {
  const response = await fetch(`${sandbox.origin}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ ...request, stream: true }),
  })
  const blocks = (await response.text()).split('\n\n').filter(block => block !== '')

  for (const block of blocks) {
    const match = /^event: (\w+)\ndata: (.+)$/.exec(block)
    t.match(JSON.parse(match?.[2] ?? '{}'), { type: match?.[1] ?? 'nothing' })
  }
  t.ok(blocks.length > 8)
})

await t.test('tokens are counted as a message counts them', async t => {
  const { max_tokens: _, ...counted } = request
  const count = await client.messages.countTokens(counted)
  const answer = await client.messages.create(request)

  t.equal(count.input_tokens, answer.usage.input_tokens)
})

await t.test('an image counts as a fixed number of tokens, at any size', async t => {
  const image = (data: string) => ({
    type: 'image' as const,
    source: { type: 'base64' as const, media_type: 'image/png' as const, data },
  })
  const ask = (data: string) =>
    client.messages.create({ ...request, messages: [{ role: 'user', content: [image(data)] }] })

  const small = await ask('aaaa')
  const large = await ask('a'.repeat(40_000))

  t.equal(small.usage.input_tokens, large.usage.input_tokens)
  t.ok(small.usage.input_tokens > 80)
})

await t.test('faults are the typed errors of the SDK', async t => {
  const ask = (changes: Partial<typeof request>) =>
    client.messages.create({ ...request, ...changes }).catch((error: unknown) => error)

  t.type(await ask({ model: 'claude-unheard-of' }), NotFoundError)
  t.type(await ask({ messages: [] }), BadRequestError)
  t.type(await ask({ model: 'sandbox-error' }), RateLimitError)
})

await t.test('max_tokens and the version header are required', async t => {
  const post = async (headers: Record<string, string>, body: unknown) => {
    const response = await fetch(`${sandbox.origin}/v1/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return { status: response.status, body: await response.json() }
  }
  const { max_tokens: _, ...uncapped } = request

  t.match(await post({}, request), { status: 400, body: { error: { message: /anthropic-version/ } } })
  t.match(await post({ 'anthropic-version': '2023-06-01' }, uncapped), {
    status: 400,
    body: { type: 'error', error: { type: 'invalid_request_error', message: /max_tokens/ } },
  })
})
