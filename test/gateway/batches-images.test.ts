import t, { type Test } from 'tap'
import { makeOpenaiBatch } from '../fixtures/batch-clients.ts'
import { batchConfig, batchModels, costOf } from '../fixtures/batch-gateway.ts'
import { startBatchProvider, usageOf, type BatchProvider } from '../fixtures/batch-provider.ts'
import { openaiClient } from '../fixtures/sdk-clients.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'
import { until } from '../fixtures/until.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

const images = '/v1/images/generations'
const credit = 1_000_000_000
const factors = { batch: '0.5' }
const models = {
  ...batchModels,
  image: {
    provider: 'openai',
    outputTokensMax: 5000,
    rubPerMillion: { input: '100', imageOutput: '4000' },
    factors,
  },
  'uncounted-image': {
    provider: 'openai',
    rubPerUnit: { images: '2', 'images/1024x1024/high': '6' },
    factors,
  },
  moderator: { provider: 'openai' },
}

async function start(t: Test): Promise<{ readonly provider: BatchProvider; readonly gateway: TestGateway }> {
  const provider = await startBatchProvider(t)
  const config = { ...batchConfig(provider.origin, 20), models }
  return { provider, gateway: await startTestGateway(t, { config }) }
}

function line(id: string, url: string, body: object): string {
  return `${JSON.stringify({ custom_id: id, method: 'POST', url, body })}\n`
}

async function refusalOf(making: Promise<string>): Promise<{ status?: number; message?: string }> {
  return making.then(
    () => ({}),
    (error: unknown) => error as { status: number; message: string },
  )
}

await t.test('images of a batch are charged by their tokens at half the price', async t => {
  const { provider, gateway } = await start(t)
  const lines = [
    line('a', images, { model: 'image', prompt: 'A calm sea', n: 2 }),
    line('b', images, { model: 'image', prompt: 'A calm sea' }),
  ]
  const id = await makeOpenaiBatch(gateway, lines.join(''), images)
  const { heldMicros, worstMicros } = await gateway.balance()
  t.ok(worstMicros >= 3 * 5000 * 4000 * 0.5, 'three images at worst')
  t.ok(heldMicros > 3 * 4000 * 4000 * 0.5)

  provider.finish(id)
  await until(async () => (await gateway.charges()).length === 1)
  const input = usageOf(0).input + usageOf(1).input
  const output = usageOf(0).output + usageOf(1).output
  t.match(await gateway.charges(), [
    {
      operation: 'batch',
      amount: ((input * 100 + output * 4000) * 0.5 * 1e-6).toFixed(6),
      usage: { input, imageOutput: output },
      lines: [{ tier: 'batch' }],
      flags: [],
    },
  ])
  await noHoldIsLeft(t, gateway)
  t.same(await gateway.breaches(), [])
})

await t.test('images of a model without token usage are charged each, by size and quality', async t => {
  const { provider, gateway } = await start(t)
  const fine = { size: '1024x1024', quality: 'high' }
  const lines = [
    line('a', images, { model: 'uncounted-image', prompt: 'x', n: 3, ...fine }),
    line('b', images, { model: 'uncounted-image', prompt: 'x' }),
    line('c', images, { model: 'uncounted-image', prompt: 'x', ...fine }),
  ]
  const id = await makeOpenaiBatch(gateway, lines.join(''), images)
  const most = (4 * 6 + 2) * 0.5e6
  t.equal((await gateway.balance()).heldMicros, most)

  provider.finish(id, { failing: ['c'] })
  await until(async () => (await gateway.charges()).length === 1)
  t.match(await gateway.charges(), [{ amount: '10.000000', usage: { images: 4 }, flags: [] }])
  t.match(await gateway.balance(), { balanceMicros: credit - 10_000_000, heldMicros: 0 })
  t.same(await gateway.breaches(), [])
})

await t.test('a batch of images with two models is refused, since its results name no model', async t => {
  const { provider, gateway } = await start(t)
  const lines = [
    line('a', images, { model: 'uncounted-image', prompt: 'x' }),
    line('b', images, { model: 'image', prompt: 'x' }),
  ]
  t.match(await refusalOf(makeOpenaiBatch(gateway, lines.join(''), images)), {
    status: 400,
    message: /line 2: It names the model "image" after "uncounted-image"/,
  })
  t.notOk(provider.seen.some(({ path }) => path === '/v1/batches'))
  await noHoldIsLeft(t, gateway)
})

await t.test('a batch of images is refused for a model without a price for images', async t => {
  const { gateway } = await start(t)
  const text = line('a', images, { model: 'embed-small', prompt: 'x' })
  t.match(await refusalOf(makeOpenaiBatch(gateway, text, images)), { status: 404, message: /^404 line 1/ })
})

await t.test('moderations are free in a batch too, and their model needs no price', async t => {
  const { provider, gateway } = await start(t)
  const moderation = '/v1/moderations'
  const text = line('a', moderation, { model: 'moderator', input: 'Is this fine?' })
  const id = await makeOpenaiBatch(gateway, text, moderation)
  t.match(await gateway.balance(), { balanceMicros: credit, heldMicros: 0 })

  provider.finish(id)
  const openai = openaiClient(gateway)
  const { status, output_file_id: file } = await openai.batches.retrieve(id)
  t.equal(status, 'completed')
  t.match(await (await openai.files.content(String(file))).text(), 'modr-a')
  t.same(await gateway.charges(), [])
  t.same(await gateway.breaches(), [])
  t.match(
    await refusalOf(
      makeOpenaiBatch(gateway, line('a', moderation, { model: 'unknown', input: 'x' }), moderation),
    ),
    { status: 404 },
  )
})

await t.test(
  'at a provider other than OpenAI, where moderations may cost money, a batch of them is refused',
  async t => {
    const provider = await startBatchProvider(t)
    const { providers, ...config } = batchConfig(provider.origin, 20)
    const together = { credentials: ['c'], dialects: { openai: { baseUrl: `${provider.origin}/v1` } } }
    const gateway = await startTestGateway(t, {
      config: {
        ...config,
        providers: { ...(providers as object), openai: { ...together, like: 'together' } },
        models: { ...models, moderator: { provider: 'openai', rubPerMillion: { input: '100' } } },
      },
    })
    const moderation = '/v1/moderations'
    const text =
      line('a', moderation, { model: 'moderator', input: 'Is this fine?' }) +
      line('b', moderation, { model: 'moderator', input: 'And this?' })
    t.match(await refusalOf(makeOpenaiBatch(gateway, text, moderation)), {
      status: 501,
      message: /line 1: Requests to \/v1\/moderations are free at OpenAI alone/,
    })
    t.notOk(provider.seen.some(({ path }) => path === '/v1/batches'))
    await noHoldIsLeft(t, gateway)
  },
)

await t.test('a chat request in a batch of moderations is refused', async t => {
  const { gateway } = await start(t)
  const text = line('a', '/v1/chat/completions', { model: 'gpt-5-nano', messages: [] })
  t.match(await refusalOf(makeOpenaiBatch(gateway, text, '/v1/moderations')), {
    status: 400,
    message: /line 1: It goes to \/v1\/chat\/completions, and the batch is for \/v1\/moderations/,
  })
})

for (const endpoint of ['/v1/images/edits', '/v1/videos'] as const) {
  await t.test(`${endpoint}: a batch is refused, and the error lists the endpoints of batches`, async t => {
    const { provider, gateway } = await start(t)
    const text = line('a', endpoint, { model: 'image', prompt: 'x' })
    t.match(await refusalOf(makeOpenaiBatch(gateway, text, endpoint)), {
      status: 501,
      message: `Batches are for /v1/chat/completions, /v1/responses, /v1/embeddings, /v1/completions, /v1/images/generations, /v1/moderations here, not for ${endpoint}.`,
    })
    t.notOk(provider.seen.some(({ path }) => path === '/v1/batches'))
    await noHoldIsLeft(t, gateway)
  })
}

await t.test(
  'images drawn by tools in a batch are held for, and charged at the price of the image model',
  async t => {
    const { provider, gateway } = await start(t)
    const tools = [{ type: 'image_generation', model: 'image' }]
    const requestBody = (more: object): object => ({
      model: 'gpt-5-nano',
      input: 'Draw.',
      max_output_tokens: 1,
      ...more,
    })
    const lines = [
      line('a', '/v1/responses', requestBody({ tools })),
      line('b', '/v1/responses', requestBody({ tools: [{ type: 'function', name: 'f' }] })),
      line('c', '/v1/responses', requestBody({ tools })),
    ]
    const id = await makeOpenaiBatch(gateway, lines.join(''), '/v1/responses')
    const { heldMicros } = await gateway.balance()
    t.ok(heldMicros >= 2 * 6240 * 4000 * 0.5, `two images are held for: ${heldMicros}`)
    t.ok(heldMicros < 3 * 6240 * 4000 * 0.5, `and no third: ${heldMicros}`)

    provider.finish(id)
    await until(async () => (await gateway.charges()).length === 1)
    const drawn = 2 * (50 * 100 + 1000 * 4000) * 0.5
    t.match(await gateway.charges(), [
      { amount: ((costOf([0, 1, 2]) + drawn) / 1e6).toFixed(6), flags: [], usage: { imageOutput: 2000 } },
    ])
    await noHoldIsLeft(t, gateway)
    t.same(await gateway.breaches(), [])
  },
)
