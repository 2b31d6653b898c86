import t, { type Test } from 'tap'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'

/** 100 roubles a million tokens of input, 500 of output. */
const text = { input: '100', output: '500' }
const models = {
  chatty: { rubPerMillion: text },
  'by-image': { rubPerUnit: { images: '4' } },
  'by-size': { rubPerUnit: { 'images/1024x1024': '4', 'images/1024x1536': '6' } },
  'by-token': { rubPerMillion: { input: '100', imageOutput: '1000' } },
  speaker: { rubPerMillion: { input: '100', output: '1000' } },
  writer: { rubPerUnit: { audioSeconds: '0.5' } },
}

interface Probe {
  readonly path: string
  readonly body: object
  readonly answer: object | string
  readonly type?: string
}

async function start(t: Test, like = 'openai') {
  const next: { answer: Probe } = { answer: { path: '', body: {}, answer: '' } }
  const upstream = await startRawUpstream(t, () => {
    const { answer, type = 'application/json' } = next.answer
    const body = typeof answer === 'string' ? answer : JSON.stringify(answer)
    return plainAnswer(200, ['content-type', type], body)
  })
  const dialects = {
    openai: { baseUrl: `${upstream.origin}/v1` },
    anthropic: { baseUrl: `${upstream.origin}/v1` },
  }
  const gateway = await startTestGateway(t, {
    config: {
      providers: { somebody: { like, credentials: ['c'], dialects } },
      models: Object.fromEntries(
        Object.entries(models).map(([name, price]) => [
          name,
          { provider: 'somebody', outputTokensMax: 4096, ...price },
        ]),
      ),
    },
  })
  const ask = async (probe: Probe): Promise<ClientAnswer> => {
    next.answer = probe
    return send(gateway.url + probe.path, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify(probe.body),
    })
  }
  return { gateway, upstream, ask }
}

async function charged(gateway: TestGateway, { status, requestId }: ClientAnswer, t: Test) {
  t.equal(status, 200)
  const charge = await gateway.chargeOf(requestId)
  t.same(await gateway.breaches(), [])
  return charge
}

const generations = '/v1/images/generations'
const drawn = { data: [{ b64_json: 'aa' }, { b64_json: 'aa' }] }
const inTokens = { input_tokens: 10, output_tokens: 2000, total_tokens: 2010 }
const chatPath = '/v1/chat/completions'
const hello = { model: 'chatty', messages: [{ role: 'user', content: 'Hello' }] }
const saying = (usage: object): object => ({
  object: 'chat.completion',
  model: 'chatty',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'word '.repeat(800) }, finish_reason: 'stop' },
  ],
  usage,
})
const event = (more: object): string =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'chatty', choices: [], ...more })}\n\n`

await t.test(
  'images priced by the piece are charged by the piece although their usage is in tokens',
  async t => {
    const { gateway, ask } = await start(t)
    const body = { model: 'by-image', prompt: 'x', n: 2 }
    const answer = { ...drawn, usage: inTokens }
    t.match(await charged(gateway, await ask({ path: generations, body, answer }), t), {
      amount: '8.000000',
      usageSource: 'estimated',
    })
  },
)

await t.test('images priced by tokens are estimated in tokens without a usage', async t => {
  const { gateway, ask } = await start(t)
  const body = { model: 'by-token', prompt: 'x', n: 2, quality: 'high' }
  const charge = await charged(gateway, await ask({ path: generations, body, answer: drawn }), t)
  t.match(charge, { usage: { imageOutput: 12_480 }, usageSource: 'estimated' })
  t.ok(Number(charge?.amount) >= 12.48)
})

await t.test(
  'a size without a price is held for and charged at the most expensive price of a size',
  async t => {
    const { gateway, ask } = await start(t)
    const body = { model: 'by-size', prompt: 'x', n: 2, size: '4096x4096' }
    const charge = await charged(gateway, await ask({ path: generations, body, answer: drawn }), t)
    t.match(charge, { amount: '12.000000', usageSource: 'provider', flags: ['meter_unpriced'] })
    const quote = await send(`${gateway.url}/gateway/v1/quote?for=${encodeURIComponent(generations)}`, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify(body),
    })
    t.match(JSON.parse(quote.body.toString()), { worst: '12.000000' })
  },
)

await t.test(
  'images without a model are refused when their options are for other models than the default',
  async t => {
    const { upstream, ask } = await start(t)
    for (const more of [
      { quality: 'high' },
      { size: '1024x1536' },
      { output_format: 'png' },
      { stream: true },
    ]) {
      const { status, body } = await ask({ path: generations, body: { prompt: 'x', ...more }, answer: drawn })
      t.equal(status, 400, JSON.stringify(more))
      t.match(JSON.parse(body.toString()), { error: { code: 'body_invalid', param: 'model' } })
    }
    t.equal(upstream.requests.length, 0)
  },
)

await t.test('speech priced by tokens is estimated from its characters', async t => {
  const { gateway, ask } = await start(t)
  const body = { model: 'speaker', input: 'x'.repeat(1000), voice: 'y' }
  const probe = { path: '/v1/audio/speech', body, answer: 'RIFF', type: 'audio/wav' }
  const charge = await charged(gateway, await ask(probe), t)
  t.match(charge, { usage: { audioOutput: 1250 }, usageSource: 'estimated' })
  t.ok(Number(charge?.amount) >= 1.25)
})

await t.test('cached input is charged at the price of input where the cache has no price', async t => {
  const { gateway, ask } = await start(t, 'anthropic')
  const usage = {
    input_tokens: 3,
    output_tokens: 5,
    cache_read_input_tokens: 1000,
    cache_creation_input_tokens: 90_000,
    cache_creation: { ephemeral_1h_input_tokens: 40_000, ephemeral_5m_input_tokens: 50_000 },
  }
  const body = { ...hello, max_tokens: 10, cache_control: { type: 'ephemeral', ttl: '1h' } }
  const answer = { type: 'message', model: 'chatty', content: [{ type: 'text', text: 'x' }], usage }
  t.match(await charged(gateway, await ask({ path: '/v1/messages', body, answer }), t), {
    amount: '9.102800',
    flags: ['meter_unpriced'],
  })
})

await t.test('delivered text is never counted as zero', async t => {
  const { gateway, ask } = await start(t)
  for (const usage of [
    {},
    { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    { prompt_tokens: 10 },
    { prompt_tokens: 10, completion_tokens: 0 },
  ]) {
    const charge = await charged(
      gateway,
      await ask({ path: chatPath, body: hello, answer: saying(usage) }),
      t,
    )
    t.equal(charge?.usageSource, 'estimated', JSON.stringify(usage))
    t.ok(Number(charge?.usage.output) >= 800, `${JSON.stringify(usage)}: ${charge?.usage.output}`)
    t.ok(Number(charge?.usage.input) >= 7)
  }
})

await t.test('input is estimated where the usage has only output', async t => {
  const { gateway, ask } = await start(t)
  const body = { model: 'chatty', messages: [{ role: 'user', content: 'word '.repeat(500) }] }
  const answer = saying({ completion_tokens: 810 })
  const charge = await charged(gateway, await ask({ path: chatPath, body, answer }), t)
  t.match(charge, { usage: { output: 810 }, usageSource: 'estimated' })
  t.ok(Number(charge?.usage.input) >= 500)
})

await t.test(
  'a message whose last event has no usage is estimated beyond the count of its first',
  async t => {
    const { gateway, ask } = await start(t, 'anthropic')
    const answer = [
      { type: 'message_start', message: { id: 'a', usage: { input_tokens: 10, output_tokens: 1 } } },
      { type: 'content_block_delta', delta: { type: 'text_delta', text: 'word '.repeat(400) } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ]
      .map(one => `data: ${JSON.stringify(one)}\n\n`)
      .join('')
    const body = { ...hello, max_tokens: 1000, stream: true }
    const probe = { path: '/v1/messages', body, answer, type: 'text/event-stream' }
    const charge = await charged(gateway, await ask(probe), t)
    t.match(charge, { usage: { input: 10 }, usageSource: 'estimated' })
    t.ok(Number(charge?.usage.output) >= 400, `${charge?.usage.output} tokens`)
  },
)

await t.test('a usage in the last choice of a stream is read', async t => {
  const { gateway, ask } = await start(t, 'moonshot')
  const usage = { prompt_tokens: 100, completion_tokens: 1000, total_tokens: 1100 }
  const answer = `${event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] })}data: [DONE]\n\n`
  const probe = { path: chatPath, body: { ...hello, stream: true }, answer, type: 'text/event-stream' }
  t.match(await charged(gateway, await ask(probe), t), { amount: '0.510000', usageSource: 'provider' })
})

await t.test('a later usage of zero does not reduce an earlier one', async t => {
  const { gateway, ask } = await start(t)
  const answer = [
    event({ choices: [{ index: 0, delta: { content: 'x'.repeat(4000) } }] }),
    event({ usage: { prompt_tokens: 100, completion_tokens: 1000, total_tokens: 1100 } }),
    event({ usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }),
    'data: [DONE]\n\n',
  ].join('')
  const probe = { path: chatPath, body: { ...hello, stream: true }, answer, type: 'text/event-stream' }
  t.match(await charged(gateway, await ask(probe), t), {
    usage: { input: 100, output: 1000 },
    amount: '0.510000',
    flags: ['usage_decreased'],
  })
})

await t.test('a failed response is charged by the output that it reports', async t => {
  const { gateway, ask } = await start(t)
  const failed = { id: 'resp_1', object: 'response', status: 'failed', model: 'chatty', output: [] }
  const error = { code: 'server_error', message: 'x' }
  const usage = { input_tokens: 100, output_tokens: 1000, total_tokens: 1100 }
  for (const [given, amount] of [
    [{ ...failed, error, usage }, '0.510000'],
    [{ ...failed, error, usage: { ...usage, output_tokens: 0, total_tokens: 100 } }, '0.000000'],
    [{ ...failed, error, usage: null }, '0.000000'],
  ] as const) {
    const whole = { path: '/v1/responses', body: { model: 'chatty', input: 'Hello' }, answer: given }
    t.match(await charged(gateway, await ask(whole), t), { amount })
    const last = `data: ${JSON.stringify({ type: 'response.failed', response: given })}\n\n`
    const streamed = {
      ...whole,
      body: { ...whole.body, stream: true },
      answer: last,
      type: 'text/event-stream',
    }
    t.match(await charged(gateway, await ask(streamed), t), { amount })
  }
})

await t.test('a cap on text does not lower the hold for an image', async t => {
  const { gateway, ask } = await start(t, 'openrouter')
  const quoted = async (more: object): Promise<number> => {
    const { body } = await send(`${gateway.url}/gateway/v1/quote?for=${encodeURIComponent(chatPath)}`, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify({ ...hello, max_tokens: 1, ...more }),
    })
    return Number((JSON.parse(body.toString()) as { readonly worst?: string }).worst)
  }
  const image = await quoted({ modalities: ['image', 'text'] })
  t.ok(image >= 6540 * 0.0005, `${image} roubles`)
  t.ok((await quoted({ modalities: ['text'] })) < 0.1)
  t.equal((await ask({ path: chatPath, body: hello, answer: saying(inTokens) })).status, 200)
})

await t.test('audio by address is refused where the response would not report its length', async t => {
  const { gateway, upstream } = await start(t, 'groq')
  const post = (format?: string) => {
    const fields = {
      model: 'writer',
      url: 'https://x.example/a.mp3',
      ...(format && { response_format: format }),
    }
    const parts = Object.entries(fields).map(
      ([name, value]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    )
    return send(`${gateway.url}/v1/audio/transcriptions`, {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'multipart/form-data; boundary=b'],
      body: `${parts.join('')}--b--\r\n`,
    })
  }
  for (const format of [undefined, 'text', 'json']) {
    const { status, body } = await post(format)
    t.equal(status, 501)
    t.match(JSON.parse(body.toString()), { error: { code: 'not_supported', param: 'url' } })
  }
  t.equal(upstream.requests.length, 0)
})
