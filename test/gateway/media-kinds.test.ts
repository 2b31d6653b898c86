import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { checkNoTrace, startCountingGateway } from '../fixtures/counting-gateway.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { fragmentedMp4, mp4, mpeg, webm } from '../fixtures/media/video-files.ts'
import { mediaPlace, mediaQuestion, type MediaFile } from '../fixtures/media/media-question.ts'
import { adts, aiff, flac, mp3, ogg, taggedMp3, wav } from '../fixtures/media/audio-files.ts'
import { ask, checkError } from '../fixtures/sdk-errors.ts'
import { jpegOfSides } from '../fixtures/small-images.ts'
import { until } from '../fixtures/until.ts'

const limits = { videoSecondsMax: 60, audioSecondsMax: 60, audioSecondsWarn: 30, imageSideMax: 100 }
const gateway = await startCountingGateway(t, {
  sections: {
    limits: { bodyMemoryBytes: '64KB' },
    plugins: [
      'auth',
      'model-router',
      { 'size-limit': { openai: limits, google: { ...limits, models: [] } } },
      'upstream-proxy',
      'usage-tap',
    ],
  },
})

const audio: Readonly<Record<string, (seconds: number) => Buffer>> = {
  'audio/wav': wav,
  'audio/aiff': aiff,
  'audio/flac': flac,
  'audio/ogg': ogg,
  'audio/mp3': mp3,
  'audio/mpeg': seconds => taggedMp3(seconds, 70_000),
  'audio/aac': adts,
  'audio/mp4': seconds => mp4(seconds, { brand: 'M4A ', handler: 'soun' }),
  'audio/webm': seconds => webm(seconds, { isAudio: true }),
}
const videos: Readonly<Record<string, (seconds: number) => Buffer>> = {
  'video/mp4': mp4,
  'video/mp4; codecs=avc1': seconds => fragmentedMp4(seconds, 2),
  'video/quicktime': seconds => mp4(seconds, { brand: 'qt  ', dataBytes: 200_000, isIndexLast: true }),
  'video/webm': webm,
  'video/x-matroska': seconds => webm(seconds, { docType: 'matroska' }),
  'video/mpeg': mpeg,
}
const kinds = { audio, video: videos }

for (const dialect of ['openai', 'google'] as const) {
  for (const [kind, files] of Object.entries(kinds)) {
    for (const [type, make] of Object.entries(files)) {
      await t.test(`${dialect}: ${type} of a minute is accepted, and a longer one is refused`, async t => {
        const shortest: MediaFile = { type, data: make(60) }
        const answer = await ask(dialect, gateway, { content: mediaQuestion(dialect, [shortest]) })
        t.notOk(answer instanceof Error, String(answer))
        t.ok(gateway.upstream.requests.at(-1)?.body.includes(shortest.data.toString('base64')), 'unchanged')
        const longer: MediaFile = { type, data: make(61) }
        await checkNoTrace(t, gateway, dialect, async () => {
          const error = await ask(dialect, gateway, { content: mediaQuestion(dialect, [longer]) })
          const message = new RegExp(
            `The ${kind} at .* is 6[01][0-9.]* seconds long, and at most 60 are accepted`,
          )
          checkError(t, dialect, error, 'media_too_long', message, mediaPlace(dialect, longer, 1))
        })
      })
    }
  }
}

function post(body: Buffer | string, headers: readonly string[] = []): Promise<ClientAnswer> {
  return send(`${gateway.url}/v1beta/models/some-model:generateContent`, {
    headers: ['x-goog-api-key', gateway.key, 'content-type', 'application/json', ...headers],
    body,
  })
}

function google(files: readonly MediaFile[]): string {
  return JSON.stringify({
    contents: mediaQuestion('google', files),
    generationConfig: { maxOutputTokens: 9 },
  })
}

await t.test('raw audio is accepted, whatever its first samples look like', async t => {
  // The first samples of the quiet recording look like an icon to a type check, those of the other like a bitmap.
  const quiet = Buffer.concat([Buffer.from('00000100010010100000', 'hex'), Buffer.alloc(2000, 1)])
  const bitmap = Buffer.concat([Buffer.from('BM'), Buffer.alloc(2000)])
  for (const [type, data] of [
    ['audio/L16; rate=24000', quiet],
    ['audio/pcm', bitmap],
  ] as const) {
    const answer = await ask('google', gateway, { content: mediaQuestion('google', [{ type, data }]) })
    t.notOk(answer instanceof Error, `${type}: ${String(answer)}`)
  }
  const content = mediaQuestion('openai', [{ type: 'audio/wav', data: quiet }])
  t.notOk((await ask('openai', gateway, { content })) instanceof Error)
})

await t.test('audio beyond the warning threshold is accepted with a warning', async t => {
  const short = await post(google([{ type: 'audio/flac', data: flac(30) }]))
  t.equal(short.headers['x-gateway-warning'], undefined)
  const long = await post(
    google([
      { type: 'audio/flac', data: flac(20) },
      { type: 'audio/aiff', data: aiff(11) },
    ]),
  )
  t.equal(long.status, 200)
  t.match(long.headers['x-gateway-warning'], /^audio_long; seconds=31; limit=30/)
})

const long = google([
  { type: 'image/jpeg', data: jpegOfSides(90, 90, 100_000) },
  { type: 'image/jpeg', data: jpegOfSides(101, 90, 100_000) },
])
const spellings: Readonly<Record<string, readonly [body: Buffer | string, headers?: readonly string[]]>> = {
  'longer than the memory limit': [long],
  'with every slash escaped': [long.replaceAll('/', '\\/')],
  'that is compressed': [gzipSync(long), ['content-encoding', 'gzip']],
}
for (const [what, [body, headers]] of Object.entries(spellings)) {
  await t.test(`media are measured in a body ${what}`, async t => {
    const answer = await post(body, headers)
    t.equal(answer.status, 413)
    t.match(answer.body.toString(), /contents\[0\]\.parts\[2\]\.inlineData is 101 x 90 pixels/)
  })
}

await t.test('the limits apply to each request in a batch', async t => {
  const request = (width: number): object => ({
    request: { contents: mediaQuestion('google', [{ type: 'image/jpeg', data: jpegOfSides(width, 9) }]) },
  })
  const batch = (...widths: number[]): Promise<ClientAnswer> =>
    send(`${gateway.url}/v1beta/models/some-model:batchGenerateContent`, {
      headers: ['x-goog-api-key', gateway.key, 'content-type', 'application/json'],
      body: JSON.stringify({
        batch: { display_name: 'b', input_config: { requests: { requests: widths.map(request) } } },
      }),
    })
  const refused = await batch(100, 101)
  t.equal(refused.status, 413)
  t.match(
    refused.body.toString(),
    /requests\[1\]\.request\.contents\[0\]\.parts\[1\]\.inlineData is 101 x 9 pixels/,
  )
})

await t.test('base64 with a colon is refused, and not taken for a URL', async t => {
  const before = gateway.upstream.requests.length
  const data = Buffer.concat([jpegOfSides(9, 9), Buffer.alloc(100_000)]).toString('base64')
  // Decoders that skip characters outside the alphabet see an image of any size in these.
  for (const odd of [`x:${data}`, `${data.slice(0, 20)}:${data.slice(20)}`]) {
    const questions = {
      openai: [{ type: 'image_url', image_url: { url: odd } }],
      anthropic: [{ type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: odd } }],
      google: [{ role: 'user', parts: [{ inlineData: { data: odd, mimeType: 'image/jpeg' } }] }],
    }
    for (const [dialect, content] of Object.entries(questions)) {
      const answer = await ask(dialect as keyof typeof questions, gateway, { content })
      t.match(String(answer), /is not valid base64/, dialect)
    }
  }
  t.equal(gateway.upstream.requests.length, before)
})

await t.test(
  'a data URL in the place of plain base64 is refused, and the error says what to remove',
  async t => {
    const before = gateway.upstream.requests.length
    const data = `data:image/jpeg;base64,${jpegOfSides(9, 9).toString('base64')}`
    const questions = {
      anthropic: [{ type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data } }],
      google: [{ role: 'user', parts: [{ inlineData: { data, mimeType: 'image/jpeg' } }] }],
    }
    for (const [dialect, content] of Object.entries(questions)) {
      const answer = await ask(dialect as keyof typeof questions, gateway, { content })
      t.match(String(answer), /is a data URL.*leave/, dialect)
    }
    t.equal(gateway.upstream.requests.length, before)
  },
)

await t.test('the URL of an image is forwarded, and the gateway does not fetch it', async t => {
  let visits = 0
  const site = createServer((_request, response) => {
    visits += 1
    response.end()
  })
  // Another host name than the provider's, whose own URLs name its files.
  site.listen(0, 'localhost')
  await once(site, 'listening')
  t.teardown(() => site.close())
  const url = `http://localhost:${(site.address() as AddressInfo).port}/a.png`
  const questions = {
    openai: [{ type: 'image_url', image_url: { url } }],
    anthropic: [{ type: 'image', source: { type: 'url', url } }],
    google: [{ role: 'user', parts: [{ fileData: { fileUri: url, mimeType: 'image/png' } }] }],
  }
  for (const [dialect, content] of Object.entries(questions)) {
    const answer = await ask(dialect as keyof typeof questions, gateway, { content })
    t.notOk(answer instanceof Error, `${dialect}: ${String(answer)}`)
    t.ok(gateway.upstream.requests.at(-1)?.body.includes(url))
  }
  t.equal(visits, 0)
})

await t.test('a file that cannot be measured is forwarded, and the log says so', async t => {
  const noise = { type: 'audio/wav', data: Buffer.concat([wav(1).subarray(0, 30), Buffer.alloc(400, 1)]) }
  const { status, requestId } = await post(google([noise]))
  t.equal(status, 200)
  const line = (): string | undefined => gateway.logLines.find(text => text.includes(requestId))
  await until(() => line() !== undefined)
  t.match(JSON.parse(line() ?? '{}'), {
    mediaUnmeasured: 1,
    mediaUnmeasuredBecause: [/^contents\[0\]\.parts\[1\]\.inlineData: /],
  })
})
