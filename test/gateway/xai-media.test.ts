import t, { type Test } from 'tap'
import { wav } from '../fixtures/media/audio-files.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { png } from '../fixtures/small-images.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const json = ['content-type', 'application/json']
const image = `data:image/png;base64,${png(8, 8).toString('base64')}`
const requestId = 'c84748c1-5ec7-9c62-b013-dc6e71a83de7'

/** A provider that responds like the recorded xAI, and OpenRouter beside it. */
async function start(t: Test, rub = 1000) {
  /** Responses by method and path; `{}` by default. */
  const answers: Record<string, object> = {
    'POST /v1/videos': { id: 'video_1', object: 'video', status: 'queued' },
    [`GET /v1/videos/${requestId}`]: { status: 'pending' },
  }
  const upstream = await startRawUpstream(t, ({ method, path }) => {
    if (path === '/v1/tts')
      return plainAnswer(200, ['content-type', 'audio/mpeg'], Buffer.from('fff3', 'hex'))
    const isNewVideo = method === 'POST' && path.startsWith('/v1/videos/')
    const answer = isNewVideo ? { request_id: requestId } : (answers[`${method} ${path}`] ?? {})
    return plainAnswer(200, json, JSON.stringify(answer))
  })
  const provider = { credentials: ['c'], dialects: { openai: { baseUrl: `${upstream.origin}/v1` } } }
  const gateway = await startTestGateway(t, {
    rub,
    config: {
      providers: { xai: provider, openrouter: provider },
      models: {
        'grok-imagine-image-quality': {
          provider: 'xai',
          rubPerUnit: { images: '5', 'images/2k': '7', 'images/input': '1' },
        },
        'grok-tts': { provider: 'xai', rubPerMillion: { characters: '1000000' } },
        'grok-stt': { provider: 'xai', rubPerUnit: { audioSeconds: '0.5' } },
        'grok-imagine-video': {
          provider: 'xai',
          rubPerUnit: { videoSeconds: '5', 'videoSeconds/720p': '7', statedUsd: '100' },
        },
        'dear-video': { provider: 'openrouter', rubPerUnit: { videoSeconds: '50' } },
        'openrouter/openai/whisper-1': { provider: 'openrouter', rubPerUnit: { audioSeconds: '0.25' } },
        'openrouter/openai/gpt-4o-transcribe': {
          provider: 'openrouter',
          outputTokensMax: 2000,
          rubPerMillion: { input: '1000', output: '4000' },
        },
      },
    },
  })
  const ask = async (method: string, path: string, body?: object | FormData, key = gateway.key) => {
    const isForm = body instanceof FormData
    const answer = await fetch(gateway.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(!isForm && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    })
    return {
      status: answer.status,
      text: await answer.text(),
      charge: () => gateway.chargeOf(answer.headers.get('x-gateway-request-id') ?? ''),
    }
  }
  return { answers, ask, gateway, upstream, held: async () => (await gateway.balance()).heldMicros }
}

function form(fields: Readonly<Record<string, string | Blob>>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') form.set(name, value)
    else form.set(name, value, 'a.wav')
  }
  return form
}

await t.test('speech is charged by its characters, with and without the provider in the path', async t => {
  const { ask, gateway, upstream } = await start(t)

  for (const path of ['/v1/tts', '/xai/v1/tts']) {
    const answer = await ask('POST', path, { text: 'Привет', voice_id: 'eve', language: 'auto' })

    t.equal(answer.status, 200, answer.text)
    t.match(await answer.charge(), {
      model: 'grok-tts',
      amount: '6.000000',
      usage: { characters: 6 },
      flags: [],
    })
  }
  t.equal(upstream.requests.at(-1)?.path, '/v1/tts')
  t.notOk(upstream.requests.at(-1)?.body.includes('model'), 'no model was added')
  t.same(await gateway.breaches(), [])
})

await t.test(
  'a transcript is held for by the length of the audio, and charged by the reported length',
  async t => {
    const { answers, ask } = await start(t)
    answers['POST /v1/stt'] = { text: 'Hello.', language: '', duration: 3.45, words: [] }

    const answer = await ask(
      'POST',
      '/v1/stt',
      form({ language: 'en', file: new Blob([new Uint8Array(wav(4))]) }),
    )

    t.equal(answer.status, 200, answer.text)
    t.match(await answer.charge(), {
      model: 'grok-stt',
      amount: '1.725000',
      usage: { audioSeconds: 3.45 },
      flags: [],
    })
  },
)

await t.test('audio that the provider fetches is held for at the maximum length', async t => {
  const { answers, ask, upstream } = await start(t, 100)
  answers['POST /v1/stt'] = { text: 'Hello.', duration: 2 }
  const body = () => form({ url: 'https://example.org/a.mp3' })

  const poor = await ask('POST', '/v1/stt', body())

  t.equal(poor.status, 402, poor.text)
  t.equal(upstream.requests.length, 0)
  const rich = await start(t, 100_000)
  rich.answers['POST /v1/stt'] = { text: 'Hello.', duration: 2 }
  t.match(await (await rich.ask('POST', '/v1/stt', body())).charge(), { amount: '1.000000' })
})

await t.test('images are charged by their resolution, and edits for their source images too', async t => {
  const { answers, ask, gateway, held } = await start(t)
  const model = 'grok-imagine-image-quality'
  const url = `data:image/png;base64,${png(8, 8).toString('base64')}`
  const made = { data: [{ url: 'https://imgen.x.ai/a.jpeg', mime_type: 'image/jpeg' }] }
  answers['POST /v1/images/generations'] = { data: [...made.data, ...made.data] }
  answers['POST /v1/images/edits'] = { ...made, usage: { cost_in_usd_ticks: 700_000_000 } }

  for (const [path, body, amount] of [
    ['generations', { prompt: 'a cat', n: 2 }, '10.000000'],
    ['generations', { prompt: 'a cat', n: 2, resolution: '2K' }, '14.000000'],
    // As recorded: five cents, and one for each of two source images.
    [
      'edits',
      {
        prompt: 'green',
        images: [
          { type: 'image_url', url },
          { type: 'image_url', url },
        ],
      },
      '7.000000',
    ],
  ] as const) {
    const answer = await ask('POST', `/v1/images/${path}`, { model, ...body })
    t.equal(answer.status, 200, answer.text)
    t.match(await answer.charge(), { amount, flags: [] })
  }
  t.equal(await held(), 0)
  t.same(await gateway.breaches(), [])
})

await t.test('a video is held for by its requested length, and charged once by its real length', async t => {
  const { answers, ask, gateway, held } = await start(t)
  const body = { model: 'grok-imagine-video', prompt: 'A calm sea', duration: 10, resolution: '720p' }

  const begun = await ask('POST', '/v1/videos/generations', {
    ...body,
    image: { url: image },
  })

  t.same(JSON.parse(begun.text), { request_id: requestId })
  t.equal(await held(), 71_000_000, 'ten seconds, and a cent for the image')
  t.match((await ask('GET', `/v1/videos/${requestId}`)).text, 'pending')
  t.equal(await held(), 71_000_000, 'it is still running')
  answers[`GET /v1/videos/${requestId}`] = {
    status: 'done',
    video: { url: 'https://vidgen.x.ai/a.mp4', duration: 9, respect_moderation: true },
    model: 'grok-imagine-video',
    usage: { cost_in_usd_ticks: 500_000_000 },
    progress: 100,
  }
  for (const _time of [1, 2]) t.equal((await ask('GET', `/v1/videos/${requestId}`)).status, 200)
  t.equal(await held(), 0)
  t.match(await gateway.charges(), [
    {
      operation: 'video-generations',
      amount: '63.000000',
      usage: { videoSeconds: 9 },
      lines: [{ variant: '720p' }],
      flags: [],
    },
  ])
  t.equal((await gateway.charges()).length, 1)
  t.same(await gateway.breaches(), [])
})

await t.test('a video of unknown length is held for at its maximum length', async t => {
  for (const [path, body, seconds, cents] of [
    ['generations', {}, 8, 0],
    ['generations', { reference_images: [{ url: image }, { url: image }] }, 8, 2],
    ['edits', { video: { url: 'https://example.org/a.mp4' } }, 9, 9],
    ['extensions', { video: { url: 'https://example.org/a.mp4' } }, 21, 15],
    ['extensions', { video: { url: 'https://example.org/a.mp4' }, duration: 10 }, 25, 15],
  ] as const) {
    const { answers, ask, gateway, held } = await start(t)
    const begun = await ask('POST', `/xai/v1/videos/${path}`, { prompt: 'A calm sea', ...body })
    t.equal(begun.status, 200, begun.text)
    t.equal(await held(), seconds * 5_000_000 + cents * 1_000_000, path)
    answers[`GET /v1/videos/${requestId}`] = { status: 'expired' }
    await ask('GET', `/v1/videos/${requestId}`)
    t.equal(await held(), 0, 'an expired video is free')
    t.match(await gateway.charges(), [{ amount: '0.000000' }])
  }
})

await t.test('the source of a video is charged by the stated cost beyond its own seconds', async t => {
  const { answers, ask, gateway } = await start(t)
  await ask('POST', '/v1/videos/edits', { prompt: 'Calmer', video: { url: 'https://example.org/a.mp4' } })
  answers[`GET /v1/videos/${requestId}`] = {
    status: 'done',
    video: { url: 'https://vidgen.x.ai/a.mp4', duration: 6 },
    model: 'grok-imagine-video',
    // Six seconds at $0.05, which are 5 roubles each here, and six source seconds at $0.01.
    usage: { cost_in_usd_ticks: 3_600_000_000 },
  }

  await ask('GET', `/v1/videos/${requestId}`)

  t.match(await gateway.charges(), [
    { amount: '36.000000', usage: { videoSeconds: 6, statedUsd: 0.06 }, overrun: undefined, flags: [] },
  ])
  t.same(await gateway.breaches(), [])
})

await t.test("another account's video is not found, also as a source", async t => {
  const { ask, gateway, upstream } = await start(t)
  await ask('POST', '/v1/videos/generations', { prompt: 'A calm sea' })
  const { id } = await gateway.accounts.createAccount({ email: 'other@example.org' })
  await gateway.accounts.credit({ accountId: id, amountMicros: 1_000_000_000, reason: 'test' })
  const { key } = await gateway.accounts.createKey({ accountId: id })
  const sent = upstream.requests.length

  t.equal((await ask('GET', `/v1/videos/${requestId}`, undefined, key)).status, 404)
  const begun = { prompt: 'On', video: { id: requestId } }
  t.equal((await ask('POST', '/v1/videos/extensions', begun, key)).status, 404)
  t.equal(upstream.requests.length, sent)
})

await t.test("a video of another provider cannot be continued at xAI's price", async t => {
  const { ask, upstream } = await start(t)
  const begun = await ask('POST', '/v1/videos', { model: 'dear-video', prompt: 'A calm sea', seconds: '8' })
  t.equal(begun.status, 200, begun.text)
  const sent = upstream.requests.length

  for (const path of ['extensions', 'edits']) {
    for (const model of [undefined, 'grok-imagine-video']) {
      const answer = await ask('POST', `/v1/videos/${path}`, {
        model,
        prompt: 'On',
        video: { id: 'video_1' },
      })
      t.equal(answer.status, 400, answer.text)
      t.match(answer.text, /kept at a provider, which does not serve the model/)
    }
    // It may have been made by a more expensive model than the named one.
    const named = { model: 'dear-video', prompt: 'On', video: { id: 'video_1' } }
    const there = await ask('POST', `/v1/videos/${path}`, named)
    t.equal(there.status, 501, there.text)
    t.match(there.text, /does not show in the request/)
  }
  t.equal(upstream.requests.length, sent)
})

await t.test('an invalid length is refused with the name of its member', async t => {
  const { ask, upstream } = await start(t)
  for (const duration of ['many', 0, -4, true]) {
    const answer = await ask('POST', '/v1/videos/generations', { prompt: 'x', duration })
    t.equal(answer.status, 400, JSON.stringify(duration))
    t.match(answer.text, /duration must be/)
  }
  t.equal(upstream.requests.length, 0)
})

await t.test("OpenRouter's transcription of audio in JSON is charged by seconds or by tokens", async t => {
  const { answers, ask, gateway, upstream } = await start(t)
  const audio = { data: wav(4).toString('base64'), format: 'wav' }
  for (const [model, usage, expected] of [
    ['whisper-1', { seconds: 3.5, cost: 0.0004 }, { amount: '0.875000', usage: { audioSeconds: 3.5 } }],
    [
      'gpt-4o-transcribe',
      { total_tokens: 113, input_tokens: 83, output_tokens: 30, cost: 0.0005 },
      { amount: '0.203000', usage: { input: 83, output: 30 } },
    ],
  ] as const) {
    answers['POST /v1/audio/transcriptions'] = { text: 'Hello.', usage }

    const answer = await ask('POST', '/openrouter/v1/audio/transcriptions', {
      model: `openai/${model}`,
      input_audio: audio,
    })

    t.equal(answer.status, 200, answer.text)
    t.ok(upstream.requests.at(-1)?.body.includes(audio.data), 'the audio is unchanged')
    t.match(await answer.charge(), { ...expected, flags: [] })
  }
  const sent = upstream.requests.length
  for (const body of [{}, { input_audio: {} }, { audio_url: 'https://example.org/a.mp3' }]) {
    const unseen = await ask('POST', '/openrouter/v1/audio/transcriptions', {
      model: 'openai/whisper-1',
      ...body,
    })
    t.equal(unseen.status, 400, unseen.text)
    t.match(unseen.text, /has no audio/)
  }
  for (const body of [
    { model: 'openai/whisper-1', url: 'https://example.org/a.mp3' },
    form({ model: 'openai/whisper-1', url: 'https://example.org/a.mp3' }),
    form({ model: 'openai/whisper-1', file_url: 'https://example.org/a.mp3' }),
  ]) {
    const fetched = await ask('POST', '/openrouter/v1/audio/transcriptions', body)
    t.equal(fetched.status, 402, 'audio by address may have any length')
  }
  t.equal(upstream.requests.length, sent)
  const wrong = await ask('POST', '/openrouter/v1/audio/transcriptions', {
    model: 'openai/whisper-1',
    input_audio: { data: png(8, 8).toString('base64'), format: 'wav' },
  })
  t.equal(wrong.status, 400, 'its type is checked as everywhere')
  t.same(await gateway.breaches(), [])
})
