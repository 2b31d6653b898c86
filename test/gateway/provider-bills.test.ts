import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { mp4 } from '../fixtures/media/video-files.ts'
import { adts, flacOfFrames, mp3, ogg, wav } from '../fixtures/media/audio-files.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

/** Roubles a million tokens. */
const spoken = { input: '600', output: '12000', audioOutput: '12000' }
const drawing = { input: '300', output: '2500', imageOutput: '30000' }
const models = {
  'gpt-4o-mini-tts': { contextTokensMax: 4096, outputTokensMax: 2000, rubPerMillion: spoken },
  // With a price for characters too, as in older configurations.
  'tts-both': {
    contextTokensMax: 4096,
    outputTokensMax: 2000,
    rubPerMillion: { ...spoken, characters: '15000' },
  },
  'tts-1': { contextTokensMax: 4096, rubPerMillion: { characters: '15000' } },
  cheap: { outputTokensMax: 100, rubPerMillion: { input: '1', output: '1' } },
  'gpt-image-1': { rubPerMillion: { input: '500', imageOutput: '4000', output: '4000' } },
  'gpt-image-1-mini': { rubPerMillion: { input: '200', imageOutput: '800', output: '800' } },
  'dall-e-2': { rubPerUnit: { images: '2' } },
  'gemini-image': { contextTokensMax: 65_536, outputTokensMax: 32_768, rubPerMillion: drawing },
  'gemini-text': {
    contextTokensMax: 1_000_000,
    outputTokensMax: 100,
    rubPerMillion: { input: '100', output: '1' },
  },
  whisper: { rubPerUnit: { audioSeconds: '0.5' } },
  'whisper-groq': { rubPerUnit: { audioSeconds: '0.5' } },
  voxtral: {
    outputTokensMax: 100,
    rubPerMillion: { input: '100', output: '300', audioInput: '500' },
    rubPerUnit: { audioSeconds: '0.5' },
  },
  veo: { rubPerUnit: { videoSeconds: '40', 'videoSeconds/4k': '60' } },
}

interface Bill {
  readonly path: string
  readonly body: object
  /** The provider's response, and its content type where it is no JSON. */
  readonly answer: object | Buffer
  readonly type?: string
  /** The provider cuts the connection after it. */
  readonly isCut?: true
  /** The provider's bill for it, in roubles. */
  readonly roubles: number
  readonly source?: 'provider' | 'estimated'
}

function bytesOf({ answer }: Pick<Bill, 'answer'>): Buffer {
  return Buffer.isBuffer(answer) ? answer : Buffer.from(JSON.stringify(answer))
}

async function start(t: Test) {
  let answer: Pick<Bill, 'answer' | 'type' | 'isCut'> = { answer: {} }
  const upstream = await startRawUpstream(t, () => {
    const body = bytesOf(answer)
    const headers = ['content-type', answer.type ?? 'application/json']
    if (answer.isCut !== true) return plainAnswer(200, headers, body)
    const head = headLines(200, [...headers, 'transfer-encoding', 'chunked'])
    return { pieces: [head, ...chunked([body]).slice(0, -1)], before: untilHeld, then: 'end' }
  })
  /** Waits until the hold is in the store, since nothing is relayed before. */
  const untilHeld = async (): Promise<void> => {
    await until(async () => (await gateway.balance()).heldMicros > 0)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  const dialects = {
    openai: { baseUrl: `${upstream.origin}/v1` },
    google: { baseUrl: `${upstream.origin}/v1beta` },
  }
  const others: Readonly<Record<string, string>> = {
    'gemini-image': 'google',
    'gemini-text': 'google',
    veo: 'google',
    'whisper-groq': 'groq',
    voxtral: 'mistral',
  }
  const gateway = await startTestGateway(t, {
    rub: 100_000,
    config: {
      isolation: 'off',
      hold: { riskRub: '0', riskOfPaid: '0' },
      providers: Object.fromEntries(
        ['openai', 'google', 'groq', 'mistral'].map(like => [like, { like, credentials: ['c'], dialects }]),
      ),
      models: Object.fromEntries(
        Object.entries(models).map(([name, model]) => [
          name,
          { provider: others[name] ?? 'openai', ...model },
        ]),
      ),
    },
  })
  const headers = ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json']
  const post = (path: string, body: object) =>
    send(gateway.url + path, { headers, body: JSON.stringify(body) })
  return {
    upstream,
    gateway,
    post,
    ask: (bill: Bill) => {
      answer = bill
      return post(bill.path, bill.body)
    },
    worst: async ({ path, body }: Pick<Bill, 'path' | 'body'>) => {
      const { body: quote } = await post(`/gateway/v1/quote?for=${path}`, body)
      return Number((JSON.parse(quote.toString()) as { worst: string }).worst)
    },
  }
}

const speech = (model: string, more: object = {}): Pick<Bill, 'path' | 'body'> => ({
  path: '/v1/audio/speech',
  body: { model, input: 'a', voice: 'x', instructions: 'Hold it. '.repeat(40), ...more },
})
const events = (...all: readonly object[]): Buffer =>
  Buffer.from(all.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''))
const spokenUsage = { input_tokens: 90, output_tokens: 1250, total_tokens: 1340 }
const responseBytes = events(
  { type: 'speech.audio.delta', audio: 'AAAA' },
  { type: 'speech.audio.done', usage: spokenUsage },
)
/** The cost of a minute of speech: 1,250 tokens at 12 roubles a thousand. */
const minute = 15
/** Speech of a thousand characters whose usage, the last event, is missing: it costs 15 roubles at every price. */
const withoutUsage = {
  answer: events({ type: 'speech.audio.delta', audio: 'AAAA' }),
  type: 'text/event-stream',
  roubles: minute,
}
const thousand = { stream_format: 'sse', input: 'One word. '.repeat(100) }

const response = (more: object): object => ({
  id: 'resp_1',
  object: 'response',
  model: 'cheap',
  status: 'completed',
  output: [
    { id: 'ig_1', type: 'image_generation_call', status: 'completed', quality: 'high', result: 'AAAA' },
    { id: 'ig_2', type: 'image_generation_call', status: 'completed', quality: 'high', result: 'AAAA' },
  ],
  usage: { input_tokens: 100, output_tokens: 100, total_tokens: 200 },
  ...more,
})
const draws = {
  path: '/v1/responses',
  body: { model: 'cheap', input: 'Draw.', tools: [{ type: 'image_generation' }] },
}
/** The cost of two images in high quality, at 4 roubles a thousand tokens. */
const twoDrawn = 49.92

const drawn = {
  candidates: [
    { content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] }, finishReason: 'STOP' },
  ],
  usageMetadata: {
    promptTokenCount: 10,
    candidatesTokenCount: 5160,
    candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 5160 }],
    totalTokenCount: 5170,
  },
}
const gemini = (model: string, body: object): Pick<Bill, 'path' | 'body'> => ({
  path: `/v1beta/models/${model}:generateContent`,
  body: { contents: [{ parts: [{ text: 'Draw.' }] }], ...body },
})
const filmed = (fps: unknown): Pick<Bill, 'path' | 'body'> =>
  gemini('gemini-text', {
    contents: [
      {
        parts: [
          { inlineData: { mimeType: 'video/mp4', data: mp4(60).toString('base64') }, videoMetadata: { fps } },
        ],
      },
    ],
  })
/** A minute of 24 frames a second, each of 258 tokens. */
const watched = {
  candidates: [{ content: { parts: [{ text: 'A sea.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 371_520, candidatesTokenCount: 3, totalTokenCount: 371_523 },
}

const transcribe = (model: string, file: Buffer, format: string): Pick<Bill, 'path' | 'body'> => ({
  path: '/v1/audio/transcriptions',
  body: { model, response_format: format, input_audio: { data: file.toString('base64') } },
})
const words = Buffer.from('Words that were said.')

const bills: Readonly<Record<string, Bill>> = {
  'speech by its tokens': {
    ...speech('gpt-4o-mini-tts', { stream_format: 'sse' }),
    answer: responseBytes,
    type: 'text/event-stream',
    roubles: 15.05,
    source: 'provider',
  },
  'speech with a price for both': {
    ...speech('tts-both', { stream_format: 'sse' }),
    answer: responseBytes,
    type: 'text/event-stream',
    roubles: 15.05,
    source: 'provider',
  },
  ...Object.fromEntries(
    ['gpt-4o-mini-tts', 'tts-both', 'tts-1'].flatMap(model =>
      [{}, { isCut: true as const }].map(cut => [
        `speech of ${model} whose events ${cut.isCut === true ? 'are cut' : 'end'} before its usage`,
        { ...speech(model, thousand), ...withoutUsage, ...cut },
      ]),
    ),
  ),
  ...Object.fromEntries(
    (
      [
        // As many bytes as a minute has at the provider's rate.
        ['wav', 'audio/wav', wav(360)],
        ['pcm', 'audio/pcm', Buffer.alloc(60 * 48_000)],
        ['mp3', 'audio/mpeg', mp3(60)],
        ['aac', 'audio/aac', adts(60)],
        ['opus', 'audio/ogg', ogg(60)],
        ['flac', 'audio/flac', flacOfFrames(0, 60)],
      ] as const
    ).flatMap(([format, type, answer]) =>
      ['gpt-4o-mini-tts', 'tts-both'].map(model => [
        `a minute of ${format} by ${model} for one character`,
        {
          ...speech(model, { response_format: format }),
          answer,
          type,
          roubles: minute,
          source: 'estimated' as const,
        },
      ]),
    ),
  ),
  'a second at a provider that bills ten, not reported': {
    ...transcribe('whisper-groq', wav(1), 'text'),
    answer: words,
    type: 'text/plain',
    roubles: 5,
  },
  'a second at a provider that bills ten, reported': {
    ...transcribe('whisper-groq', wav(1), 'verbose_json'),
    answer: { duration: 1, text: 'Words.' },
    roubles: 5,
  },
  'the audio of a video': {
    ...transcribe('whisper', mp4(36), 'text'),
    answer: words,
    type: 'text/plain',
    roubles: 18,
  },
  'a chat about audio that is billed by the second': {
    path: '/v1/chat/completions',
    body: {
      model: 'voxtral',
      messages: [
        { role: 'user', content: [{ type: 'input_audio', input_audio: wav(4).toString('base64') }] },
      ],
    },
    answer: {
      object: 'chat.completion',
      model: 'voxtral',
      choices: [{ index: 0, message: { role: 'assistant', content: 'It rains.' }, finish_reason: 'stop' }],
      usage: {
        prompt_audio_seconds: 4,
        prompt_tokens: 9,
        completion_tokens: 20,
        total_tokens: 404,
        prompt_tokens_details: { audio_tokens: 375 },
      },
    },
    roubles: 2.0069,
    source: 'provider',
  },
  'images of a tool without a usage': {
    ...draws,
    answer: response({}),
    roubles: twoDrawn,
    source: 'estimated',
  },
  'images of a tool with a usage of zero': {
    ...draws,
    answer: response({ tool_usage: { image_gen: { total_tokens: 0 }, web_search: { num_requests: 0 } } }),
    roubles: twoDrawn,
    source: 'estimated',
  },
  'images by the piece, with a usage of zero': {
    path: '/v1/images/generations',
    body: { model: 'dall-e-2', prompt: 'x', n: 3 },
    answer: {
      data: [{ url: 'a' }, { url: 'b' }, { url: 'c' }],
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    },
    roubles: 6,
  },
  ...Object.fromEntries(
    [
      {},
      { responseModalities: ['IMAGE'] },
      { responseModalities: ['image'] },
      { responseModalities: [2] },
      { responseModalities: ['2'] },
      { responseModalities: 'IMAGE' },
      { responseModalities: 2 },
      { response_modalities: [2] },
    ].flatMap(modalities =>
      ['generationConfig', 'generation_config'].map(member => [
        `images beyond a cap on text, ${member} ${JSON.stringify(modalities)}`,
        {
          ...gemini('gemini-image', { [member]: { maxOutputTokens: 1, ...modalities } }),
          answer: drawn,
          roubles: 154.803,
          source: 'provider' as const,
        },
      ]),
    ),
  ),
  ...Object.fromEntries(
    [24, '24', 2.4e1, 'Infinity', '2.4e1'].map(fps => [
      `24 frames a second, written ${JSON.stringify(fps)}`,
      { ...filmed(fps), answer: watched, roubles: 37.152, source: 'provider' as const },
    ]),
  ),
}

await t.test("every charge covers the provider's bill, and stays within the quoted worst", async t => {
  const { gateway, ask, worst } = await start(t)

  for (const [name, bill] of Object.entries(bills)) {
    const most = await worst(bill)
    const { status, requestId, body } = await ask(bill)
    t.equal(status, 200, `${name}: ${body.toString().slice(0, 200)}`)
    const responseBytes = bytesOf(bill)
    t.ok(body.subarray(0, responseBytes.length).equals(responseBytes), `${name}: byte for byte`)
    const error = body.subarray(responseBytes.length).toString()
    t.equal(error.includes('upstream_failed'), bill.isCut === true, `${name}: ${error}`)
    const charge = await gateway.chargeOf(requestId)
    t.equal(charge?.outcome, bill.isCut === true ? 'broken' : 'completed', name)
    const amount = Number(charge?.amount)
    t.ok(amount >= bill.roubles * 0.999, `${name}: ${amount} of ${bill.roubles}`)
    t.ok(amount <= bill.roubles * 1.02, `${name}: ${amount} for ${bill.roubles}`)
    t.ok(most >= amount, `${name}: ${most} at worst, for ${amount}`)
    if (bill.source !== undefined) t.equal(charge?.usageSource, bill.source, name)
  }
  t.same(await gateway.breaches(), [])
})
