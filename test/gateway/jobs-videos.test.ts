import { toFile, type OpenAI } from 'openai'
import t, { type Test } from 'tap'
import { jobConfig } from '../fixtures/job-gateway.ts'
import { call } from '../fixtures/job-kinds.ts'
import { videoContent, startJobProvider, type JobProvider } from '../fixtures/job-provider.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { openaiClient } from '../fixtures/sdk-clients.ts'
import { png } from '../fixtures/small-images.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'

async function start(t: Test): Promise<{ provider: JobProvider; gateway: TestGateway; openai: OpenAI }> {
  const provider = await startJobProvider(t)
  const gateway = await startTestGateway(t, { config: jobConfig(provider.origin, 600_000) })
  return { provider, gateway, openai: openaiClient(gateway) }
}

await t.test('the SDK submits a form with an image, and downloads the video', async t => {
  const { provider, gateway, openai } = await start(t)
  const input_reference = await toFile(png(8, 8), 'first.png', { type: 'image/png' })
  const video = await openai.videos.create({
    model: 'sora-2',
    prompt: 'A calm sea',
    seconds: '8',
    size: '1280x720',
    input_reference,
  })
  t.equal((await gateway.balance()).heldMicros, 8 * 25_000_000, 'by its size')
  provider.end(video.id, 'done')
  const content = await openai.videos.downloadContent(video.id)
  t.same(Buffer.from(await content.arrayBuffer()), videoContent, 'byte for byte')
  t.match(await gateway.charges(), [
    { amount: '200.000000', usage: { videoSeconds: 8 }, lines: [{ variant: '1280x720' }], flags: [] },
  ])
  t.equal((await openai.videos.retrieve(video.id)).status, 'completed')
  t.equal((await gateway.charges()).length, 1)
})

await t.test(
  'a remix has the length and price of its source, and only the account of the source may make it',
  async t => {
    const { provider, gateway, openai } = await start(t)
    const { id } = await openai.videos.create({
      model: 'sora-2',
      prompt: 'A sea',
      seconds: '12',
      size: '1280x720',
    })
    provider.end(id, 'done')
    await openai.videos.retrieve(id)
    const remix = await openai.videos.remix(id, { prompt: 'A storm' })
    t.equal((await gateway.balance()).heldMicros, 12 * 25_000_000)
    provider.end(remix.id, 'done')
    await openai.videos.retrieve(remix.id)
    t.match(
      (await gateway.charges()).map(({ operation, amount, model }) => [operation, amount, model]),
      [
        ['videos', '300.000000', 'sora-2'],
        ['video-remix', '300.000000', 'sora-2'],
      ],
    )
    const { id: other } = await gateway.accounts.createAccount({ email: 'other@example.org' })
    await gateway.accounts.credit({ accountId: other, amountMicros: 1_000_000_000, reason: 'test' })
    const { key } = await gateway.accounts.createKey({ accountId: other })
    const seen = provider.seen.length
    for (const [method, path] of [
      ['POST', `/v1/videos/${id}/remix`],
      ['GET', `/v1/videos/${id}`],
      ['GET', `/v1/videos/${id}/content`],
      ['DELETE', `/v1/videos/${id}`],
      ['POST', '/v1/videos/video_invented/remix'],
    ] as const) {
      const answer = await call(
        { url: gateway.url, key },
        method,
        path,
        method === 'POST' ? { prompt: 'x' } : undefined,
      )
      t.equal(answer.status, 404, `${method} ${path}`)
    }
    t.equal(provider.seen.length, seen, 'the provider received no request')
    t.same(await gateway.breaches(), [])
  },
)

await t.test(
  'a video without a model and a length in the request has those that the provider reports',
  async t => {
    const { provider, gateway } = await start(t)
    const answer = await call(gateway, 'POST', '/v1/videos', { prompt: 'A calm sea' })
    t.equal(answer.status, 200, 'the model too has a default')
    t.equal((await gateway.balance()).heldMicros, 4 * 10_000_000)
    provider.end('video_1', 'done')
    await call(gateway, 'GET', '/v1/videos/video_1')
    t.match(await gateway.charges(), [{ amount: '40.000000', model: 'sora-2', flags: [] }])
  },
)

await t.test('an invalid length is refused with the reason', async t => {
  const { provider, gateway } = await start(t)
  for (const seconds of ['many', 0, -4, true]) {
    const answer = await call(gateway, 'POST', '/v1/videos', { model: 'sora-2', prompt: 'x', seconds })
    t.equal(answer.status, 400, JSON.stringify(seconds))
    t.match(answer.body.toString(), /seconds must be/)
  }
  t.same(provider.seen, [])
})

/** A provider of another kind, whose videos are returned by `videoOf`, at 10 roubles a second. */
async function startOther(t: Test, like: string, videoOf: (id: string) => object) {
  let made = 0
  const provider = await startRawUpstream(t, ({ method, path }) => {
    if (path.endsWith('/content')) return plainAnswer(200, ['content-type', 'video/mp4'], videoContent)
    const isNew = method === 'POST'
    const video = isNew ? { id: `v${(made += 1)}`, status: 'pending' } : videoOf(path.split('/').at(-1) ?? '')
    return plainAnswer(200, ['content-type', 'application/json'], JSON.stringify(video))
  })
  const config = jobConfig(provider.origin, 600_000)
  const providers = config['providers'] as { readonly openai: object }
  const rubPerUnit = { videoSeconds: '10', 'videoSeconds/1080p': '20', statedUsd: '100' }
  const gateway = await startTestGateway(t, {
    config: {
      ...config,
      providers: { ...providers, openai: { ...providers.openai, like } },
      models: { 'veo-3': { provider: 'openai', rubPerUnit } },
    },
  })
  return { provider, gateway }
}

await t.test(
  'a video of OpenRouter is held for by its requested length, and charged at its stated cost',
  async t => {
    const { gateway } = await startOther(t, 'openrouter', id => ({
      id,
      status: 'completed',
      unsigned_urls: ['https://example.org'],
      usage: { cost: 2.5 },
    }))
    for (const [fields, heldRub] of [
      [{ duration: 20 }, 200],
      [{ seconds: '8', duration: 20 }, 200],
      [{ duration: 20, resolution: '1080P' }, 400],
    ] as const) {
      const before = (await gateway.charges()).length
      const made = await call(gateway, 'POST', '/v1/videos', { model: 'veo-3', prompt: 'A sea', ...fields })
      t.equal(made.status, 200)
      t.equal((await gateway.balance()).heldMicros, heldRub * 1_000_000, JSON.stringify(fields))
      const id = (JSON.parse(made.body.toString()) as { id: string }).id
      // Its bytes do not state its cost.
      t.same((await call(gateway, 'GET', `/v1/videos/${id}/content`)).body, videoContent)
      t.equal((await gateway.charges()).length, before)
      await call(gateway, 'GET', `/v1/videos/${id}`)
      t.match((await gateway.charges()).at(-1), { amount: heldRub > 250 ? '400.000000' : '250.000000' })
    }
    t.same(await gateway.breaches(), [])
  },
)

await t.test('a cancelled video of OpenRouter costs nothing, and its hold is released', async t => {
  const { gateway } = await startOther(t, 'openrouter', id => ({ id, status: 'cancelled' }))
  await call(gateway, 'POST', '/v1/videos', { model: 'veo-3', prompt: 'A sea', duration: 5 })
  await call(gateway, 'GET', '/v1/videos/v1')
  t.match(await gateway.charges(), [{ amount: '0.000000' }])
  t.equal((await gateway.balance()).heldMicros, 0)
})

await t.test("a video at Google's endpoint is charged by the length in Google's options", async t => {
  const { gateway } = await startOther(t, 'google', id => ({ id, status: 'completed' }))
  for (const [fields, amount] of [
    [{ seconds: '8' }, '80.000000'],
    [{ duration_seconds: 6 }, '60.000000'],
    [{ extra_body: { google: { duration_seconds: 8, resolution: '1080p' } } }, '160.000000'],
    [{ google: { duration_seconds: 8 } }, '80.000000'],
  ] as const) {
    const made = await call(gateway, 'POST', '/v1/videos', { model: 'veo-3', prompt: 'A sea', ...fields })
    const id = (JSON.parse(made.body.toString()) as { id: string }).id
    await call(gateway, 'GET', `/v1/videos/${id}`)
    t.match((await gateway.charges()).at(-1), { amount }, JSON.stringify(fields))
  }
})

await t.test('a video is refused where only its provider would know its length', async t => {
  for (const like of ['google', 'openrouter']) {
    const { provider, gateway } = await startOther(t, like, id => ({ id }))
    const { status, body } = await call(gateway, 'POST', '/v1/videos', { model: 'veo-3', prompt: 'A sea' })
    t.equal(status, 400, like)
    t.match(JSON.parse(body.toString()), { error: { param: 'seconds' } })
    const begun = await call(gateway, 'POST', '/v1/videos/generations', { model: 'veo-3', prompt: 'A sea' })
    t.equal(begun.status, 400, like)
    t.equal(provider.requests.length, 0)
  }
})
