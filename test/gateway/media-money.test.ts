import t, { type Test } from 'tap'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { mp4, webmOfBlock, webmOfFrames } from '../fixtures/media/video-files.ts'
import { mediaQuestion } from '../fixtures/media/media-question.ts'
import { pdf } from '../fixtures/media/pdf-files.ts'
import {
  mp3,
  mp3InAac,
  oggCodings,
  oggOfPackets,
  wav,
  wavFormat,
  wavOfChunks,
} from '../fixtures/media/audio-files.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'

const { Opus: opusCoding } = oggCodings
if (opusCoding === undefined) throw new Error('no Opus')

const boundary = 'form'
const type = `multipart/form-data; boundary=${boundary}`

function transcription(file: Buffer, format: string): Buffer {
  const field = (name: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`
  return Buffer.concat([
    Buffer.from(field('model', 'whisper') + field('response_format', format) + head),
    file,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
}

interface Started {
  readonly gateway: TestGateway
  readonly sent: () => number
  readonly transcribe: (file: Buffer, format: string) => Promise<ClientAnswer>
  /** The hold of a request with a file in roubles, from the error of its refusal. */
  readonly held: (type: string, data: Buffer) => Promise<number>
  /** The hold of a request with a video in roubles, from its quote. */
  readonly quote: (video: Buffer) => Promise<number>
}

interface StartOptions {
  /** The kind of the provider. */
  readonly like?: string
  readonly plugins?: readonly string[]
}

/** The plugins of an operator who does not limit media. */
const unlimited = { plugins: ['auth', 'model-router', 'upstream-proxy', 'usage-tap'] }

async function start(t: Test, rub: number, { like, plugins }: StartOptions = {}): Promise<Started> {
  const upstream = await startRawUpstream(t, ({ body }) =>
    body.includes('verbose_json')
      ? plainAnswer(200, ['content-type', 'application/json'], '{"duration":5.5,"text":"Words."}')
      : plainAnswer(200, ['content-type', 'text/plain'], 'Words that were said.'),
  )
  const baseUrl = (version: string): object => ({ baseUrl: `${upstream.origin}/${version}` })
  const gateway = await startTestGateway(t, {
    rub,
    config: {
      providers: {
        somebody: {
          credentials: ['c'],
          dialects: { openai: baseUrl('v1'), google: baseUrl('v1beta') },
          ...(like !== undefined && { like }),
        },
      },
      ...(plugins !== undefined && { plugins }),
      models: {
        whisper: { provider: 'somebody', rubPerUnit: { audioSeconds: '0.5' } },
        // A rouble a thousand tokens of input; output is free.
        reader: {
          provider: 'somebody',
          contextTokensMax: 2_000_000,
          outputTokensMax: 1,
          rubPerMillion: { input: '1000', output: '0' },
        },
      },
    },
  })
  const path = '/v1beta/models/reader:generateContent'
  const post = (to: string, kind: string, data: Buffer): Promise<ClientAnswer> =>
    send(gateway.url + to, {
      headers: ['x-goog-api-key', gateway.key, 'content-type', 'application/json'],
      body: JSON.stringify({ contents: mediaQuestion('google', [{ type: kind, data }]) }),
    })
  return {
    gateway,
    sent: () => upstream.requests.length,
    transcribe: (file, format) =>
      send(`${gateway.url}/v1/audio/transcriptions`, {
        headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', type],
        body: transcription(file, format),
      }),
    async held(kind, data) {
      const { status, body } = await post(path, kind, data)
      t.equal(status, 402)
      return Number(/likely costs ([0-9.]+) roubles/.exec(body.toString())?.[1])
    },
    async quote(video) {
      const { body } = await post(`/gateway/v1/quote?for=${path}`, 'video/mp4', video)
      return Number((JSON.parse(body.toString()) as { hold: string }).hold)
    },
  }
}

await t.test('a transcription without a usage is charged by the length of its audio', async t => {
  const { gateway, transcribe } = await start(t, 100)
  for (const [file, seconds] of [
    [wav(7), 7],
    [mp3(36), 36],
    // Their headers mislead; players do not rely on them.
    [mp3InAac(36), 36],
    [webmOfFrames({ codec: 'A_OPUS', frame: Buffer.from([0x08, 0]) }, 1800), 36],
    [oggOfPackets(opusCoding, 36, { granule: () => 960n }), 36],
    [
      wavOfChunks(
        ['fmt ', wavFormat(1)],
        ['fmt ', wavFormat(1, { channels: 8 })],
        ['data', wav(7).subarray(44)],
      ),
      7,
    ],
    [
      wavOfChunks(['fmt ', wavFormat(6)], ['fact', Buffer.from([1, 0, 0, 0])], ['data', wav(7).subarray(44)]),
      7,
    ],
  ] as const) {
    const { status, requestId } = await transcribe(file, 'text')
    t.equal(status, 200)
    const charge = await gateway.chargeOf(requestId)
    t.equal(charge?.usageSource, 'estimated')
    const metered = charge?.usage.audioSeconds ?? 0
    t.equal(Math.round(metered * 1000) / 1000, seconds)
    t.equal(charge?.amount, (seconds / 2).toFixed(6))
  }
  t.same(await gateway.breaches(), [])
})

/** Frames of Opus of 2.5 and of 60 ms. */
const [shortFrame, longFrame] = [Buffer.from([0x80, 0, 0]), Buffer.from([0x18, 0])]

await t.test('each frame laced into a WebM block is counted', async t => {
  const { gateway, transcribe } = await start(t, 100)
  for (const [name, file, seconds] of [
    [
      'xiph',
      webmOfBlock('A_OPUS', [shortFrame, ...Array.from({ length: 100 }, () => longFrame)], 'xiph'),
      6.0025,
    ],
    [
      'ebml',
      webmOfBlock('A_OPUS', [shortFrame, ...Array.from({ length: 100 }, () => longFrame)], 'ebml'),
      6.0025,
    ],
    [
      'beyond the head of the block',
      webmOfBlock(
        'A_OPUS',
        [Buffer.alloc(2000, 0x80), ...Array.from({ length: 100 }, () => longFrame)],
        'ebml',
      ),
      6.0025,
    ],
    ['samples', webmOfBlock('A_PCM/INT/LIT', [Buffer.alloc(8000 * 2 * 7)], 'none'), 7],
    ['frames of MP3 in one block', webmOfBlock('A_MPEG/L3', [mp3(36)], 'none'), 36],
  ] as const) {
    const { status, requestId, body } = await transcribe(file, 'text')
    t.equal(status, 200, `${name}: ${body.toString()}`)
    const metered = (await gateway.chargeOf(requestId))?.usage.audioSeconds ?? 0
    t.ok(Math.abs(metered - seconds) < 0.1, `${name}: ${metered} of ${seconds}`)
  }
})

for (const [where, options, formats] of [
  ['', {}, ['json', 'text', 'srt', 'vtt']],
  [', also without size-limit', unlimited, ['json', 'text', 'srt', 'vtt']],
  [' in JSON', { like: 'openai' }, ['text', 'srt', 'vtt']],
] as const) {
  await t.test(
    `audio that cannot be measured is sent only where the response reports its length${where}`,
    async t => {
      const { gateway, sent, transcribe } = await start(t, 1000, options)
      for (const [name, file] of [
        ['of no known type', Buffer.alloc(4000, 7)],
        ['a WAV of TrueSpeech', wavOfChunks(['fmt ', wavFormat(0x22)], ['data', Buffer.alloc(4000)])],
        ['a codec that is not known', webmOfBlock('A_REAL/COOK', [Buffer.alloc(4000)], 'none')],
      ] as const) {
        for (const format of formats) {
          const { status, body } = await transcribe(file, format)
          t.equal(status, 501, `${name}, ${format}`)
          t.match(body.toString(), /response_format=verbose_json/)
        }
        t.equal((await transcribe(file, 'verbose_json')).status, 200, name)
      }
      t.equal(sent(), 3)
      t.same(
        (await gateway.charges()).map(({ amount }) => amount),
        ['2.750000', '2.750000', '2.750000'],
      )
    },
  )
}

await t.test('media are measured without the plugin size-limit too', async t => {
  const [limited, plain] = [await start(t, 100), await start(t, 100, unlimited)]

  for (const started of [limited, plain]) {
    const { requestId } = await started.transcribe(wav(7), 'text')
    t.match(await started.gateway.chargeOf(requestId), { usage: { audioSeconds: 7 }, amount: '3.500000' })
  }
  const longVideo = mp4(3600)
  t.equal(await plain.held('video/mp4', longVideo), await limited.held('video/mp4', longVideo))
})

await t.test('the length that the provider reports takes precedence over the measured one', async t => {
  const { gateway, transcribe } = await start(t, 100)
  const { requestId } = await transcribe(wav(7), 'verbose_json')
  const charge = await gateway.chargeOf(requestId)
  t.equal(charge?.usageSource, 'provider')
  t.equal(charge?.amount, '2.750000')
})

await t.test('audio is not sent when the account cannot pay for its length', async t => {
  const { gateway, sent, transcribe } = await start(t, 20)
  t.equal((await transcribe(mp3(36), 'text')).status, 200)
  t.equal((await gateway.balance()).balanceMicros < 3_000_000, true)
  // A few kilobytes, which could be a second of better audio.
  t.equal((await transcribe(mp3(36), 'text')).status, 402)
  t.equal(sent(), 1)
})

await t.test('the hold of media depends on their content, not on their bytes', async t => {
  const { held, quote, sent } = await start(t, 0.01)
  const hour = await held('video/mp4', mp4(3600))
  t.ok(hour > 1080 && hour < 1081, `300 tokens a second: ${hour}`)
  const longer = await held('video/mp4', mp4(3600, { dataBytes: 3_000_000 }))
  t.ok(Math.abs(longer - hour) < 0.1, `${longer}`)
  const quoted = await quote(mp4(3600))
  t.equal(quoted, hour, 'like its quote')
  const pages = await held('application/pdf', pdf(40))
  t.ok(pages > 100 && pages < 101, `2,500 tokens a page: ${pages}`)
  t.equal(sent(), 0)
})
