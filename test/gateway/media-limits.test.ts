import t from 'tap'
import type { DialectName } from '../../lib/dialects/dialect.ts'
import type { ErrorCode } from '../../lib/pipeline/errors.ts'
import { checkNoTrace, countingConfig, startCountingGateway } from '../fixtures/counting-gateway.ts'
import { fragmentedMp4, mp4, webm } from '../fixtures/media/video-files.ts'
import { mediaPlace, mediaQuestion, type MediaFile } from '../fixtures/media/media-question.ts'
import { pdf, pdfBomb } from '../fixtures/media/pdf-files.ts'
import { aiff, flac } from '../fixtures/media/audio-files.ts'
import { ask, checkError } from '../fixtures/sdk-errors.ts'
import { gifOfSides, jpegOfSides, pngOfSides, webpOfSides } from '../fixtures/small-images.ts'

const priced = { provider: 'somebody', outputTokensMax: 1000, rubPerMillion: { input: '1', output: '1' } }
const model = (name: string): object => ({ [name]: priced })

/** A gateway with the shipped limits. */
const gateway = await startCountingGateway(t, {
  sections: {
    models: {
      ...model('some-model'),
      ...model('gemini-9-pro'),
      ...model('gemini-9-flash'),
      ...model('claude-haiku-9'),
      best: { alias: 'gemini-9-pro' },
    },
  },
})

const png = (width: number, height: number): MediaFile => ({
  type: 'image/png',
  data: pngOfSides(width, height),
})
const video = (data: Buffer, type = 'video/mp4'): MediaFile => ({ type, data })
const paper = (pages: number, isPacked = false): MediaFile => ({
  type: 'application/pdf',
  data: pdf(pages, { isPacked }),
})
const repeated = (count: number, file: MediaFile): MediaFile[] => Array.from({ length: count }, () => file)

interface Case {
  readonly what: string
  readonly dialect: DialectName
  readonly model?: string
  readonly passes: readonly MediaFile[]
  readonly fails: readonly MediaFile[]
  readonly code: ErrorCode
  readonly message: RegExp
  /** The number of the failing file that the error names, from 1. */
  readonly number?: number
}

const cases: readonly Case[] = [
  ...[
    { what: 'PNG', make: pngOfSides, type: 'image/png' },
    { what: 'GIF', make: gifOfSides, type: 'image/gif' },
    { what: 'JPEG', make: jpegOfSides, type: 'image/jpeg' },
    { what: 'WEBP', make: webpOfSides, type: 'image/webp' },
  ].map(({ what, make, type }): Case => ({
    what: `a ${what} of 8000 pixels a side, and of one more`,
    dialect: 'anthropic',
    passes: [{ type, data: make(8000, 8000) }],
    fails: [{ type, data: make(10, 8001) }],
    code: 'media_too_large',
    message: /is 10 x 8001 pixels, and at most 8000 a side are accepted/,
  })),
  {
    what: 'twenty large images, and one more',
    dialect: 'anthropic',
    passes: repeated(20, png(2001, 10)),
    fails: [...repeated(20, png(2000, 10)), png(2001, 10)],
    code: 'media_too_large',
    message:
      /is 2001 x 10 pixels, and at most 2000 a side are accepted in a request with more than 20 images/,
    number: 21,
  },
  ...(['openai', 'google'] as const).map((dialect): Case => ({
    what: 'as many pixels as decoders accept, and more',
    dialect,
    passes: [png(13_377, 13_377)],
    fails: [png(13_378, 13_378)],
    code: 'media_too_large',
    message: /is 13378 x 13378 pixels, and at most 178956970 in all are accepted/,
  })),
  {
    what: 'an hour of video for a Pro model, and a second more',
    dialect: 'google',
    model: 'gemini-9-pro',
    passes: [video(mp4(3600))],
    fails: [video(mp4(3601))],
    code: 'media_too_long',
    message: /is 3601 seconds long, and at most 3600 are accepted/,
  },
  {
    what: 'an hour of video for a Pro model by an alias, and two hours in a megabyte',
    dialect: 'google',
    model: 'best',
    passes: [video(webm(3600), 'video/webm')],
    fails: [video(mp4(7200, { dataBytes: 1_048_576, isIndexLast: true }))],
    code: 'media_too_long',
    message: /is 7200 seconds long, and at most 3600 are accepted/,
  },
  {
    what: 'videos of an hour together, and of more',
    dialect: 'google',
    model: 'gemini-9-pro',
    passes: [video(mp4(1800, { brand: 'qt  ' }), 'video/quicktime'), video(fragmentedMp4(1800))],
    fails: [video(mp4(1800, { brand: 'qt  ' }), 'video/quicktime'), video(fragmentedMp4(1804))],
    code: 'media_too_long',
    message: /is 1804 seconds long, 3604 with the video before it, and at most 3600 are accepted/,
    number: 2,
  },
  {
    what: 'three hours of video for another model, and more',
    dialect: 'google',
    model: 'gemini-9-flash',
    passes: [video(mp4(10_800))],
    fails: [video(mp4(10_801))],
    code: 'media_too_long',
    message: /is 10801 seconds long, and at most 10800 are accepted/,
  },
  {
    what: 'ten videos, and one more',
    dialect: 'google',
    passes: repeated(10, video(mp4(1))),
    fails: repeated(11, video(mp4(1))),
    code: 'media_too_many',
    message: /has 11 videos, and at most 10 are accepted/,
    number: 11,
  },
  {
    what: 'nine and a half hours of audio, and more',
    dialect: 'google',
    passes: [
      { type: 'audio/flac', data: flac(30_000) },
      { type: 'audio/aiff', data: aiff(4200) },
    ],
    fails: [
      { type: 'audio/flac', data: flac(30_000) },
      { type: 'audio/aiff', data: aiff(4201) },
    ],
    code: 'media_too_long',
    message: /is 4201 seconds long, 34201 with the audio before it, and at most 34200 are accepted/,
    number: 2,
  },
  {
    what: '600 pages, and one more in another file',
    dialect: 'anthropic',
    passes: [paper(300), paper(300, true)],
    fails: [paper(300), paper(301, true)],
    code: 'media_too_large',
    message: /comes to 601 pages with the PDFs before it, and at most 600 are accepted/,
    number: 2,
  },
  {
    what: '100 pages for a model that reads less, and one more',
    dialect: 'anthropic',
    model: 'claude-haiku-9',
    passes: [paper(100, true)],
    fails: [paper(101)],
    code: 'media_too_large',
    message: /comes to 101 pages, and at most 100 are accepted/,
  },
  {
    what: '1000 pages each, and one more',
    dialect: 'google',
    passes: [paper(1000), paper(1000, true)],
    fails: [paper(1001)],
    code: 'media_too_large',
    message: /comes to 1001 pages, and at most 1000 are accepted/,
  },
  ...(['openai', 'anthropic', 'google'] as const).map((dialect): Case => ({
    what: 'a PDF, and a PDF bomb',
    dialect,
    passes: [paper(1)],
    fails: [{ type: 'application/pdf', data: pdfBomb(20_000_000) }],
    code: 'media_invalid',
    message: /application\/pdf at .* cannot be read: a part of it unpacks to more than 16777216 bytes/,
  })),
  ...(['openai', 'anthropic', 'google'] as const).map((dialect): Case => ({
    what: 'a PDF, and a web page labelled as one',
    dialect,
    passes: [paper(1)],
    fails: [{ type: 'application/pdf', data: Buffer.from('<html>404</html>') }],
    code: 'media_type',
    message: /is called application\/pdf and is text\/html by its content/,
  })),
  ...(['openai', 'google'] as const).map((dialect): Case => ({
    what: 'a video, and an archive labelled as one',
    dialect,
    passes: [video(mp4(5))],
    fails: [video(Buffer.concat([Buffer.from('504b0304', 'hex'), Buffer.alloc(50)]))],
    code: 'media_type',
    message: /is called video\/mp4 and is application\/zip by its content/,
  })),
  {
    what: 'a video, and one truncated before its index',
    dialect: 'google',
    passes: [video(mp4(5, { isIndexLast: true }))],
    fails: [video(mp4(5, { isIndexLast: true }).subarray(0, 120))],
    code: 'media_invalid',
    message: /video\/mp4 at .* cannot be read: it has no index/,
  },
]

for (const { what, dialect, model: name, passes, fails, code, message, number = 1 } of cases) {
  await t.test(`${dialect}: the first is accepted and the second refused: ${what}`, async t => {
    const request = name === undefined ? {} : { model: name }
    const answer = await ask(dialect, gateway, { ...request, content: mediaQuestion(dialect, passes) })
    t.notOk(answer instanceof Error, `at the limit: ${String(answer)}`)
    await checkNoTrace(t, gateway, dialect, async () => {
      const error = await ask(dialect, gateway, { ...request, content: mediaQuestion(dialect, fails) })
      checkError(
        t,
        dialect,
        error,
        code,
        message,
        mediaPlace(dialect, fails[number - 1] as MediaFile, number),
      )
    })
  })
}

await t.test('the operator sets the limits of files', async t => {
  const small = await startCountingGateway(t, {
    sections: {
      ...countingConfig(gateway.upstream.origin),
      plugins: [
        'auth',
        'model-router',
        {
          'size-limit': {
            anthropic: { pdfBytesMax: paper(2).data.length },
            openai: { pdfBytesTotalMax: paper(2).data.length * 2 },
            google: { imageSideMax: 10, models: [] },
          },
        },
        'upstream-proxy',
        'usage-tap',
      ],
    },
  })
  const limited: readonly Omit<Case, 'what'>[] = [
    {
      dialect: 'anthropic',
      passes: [paper(2)],
      fails: [paper(3)],
      code: 'media_too_large',
      message: /comes to \d+ bytes, and at most \d+ are accepted/,
    },
    {
      dialect: 'openai',
      passes: [paper(2), paper(2)],
      fails: [paper(2), paper(3)],
      code: 'media_too_large',
      message: /comes to \d+ bytes with the PDFs before it, and at most \d+ are accepted/,
      number: 2,
    },
    {
      dialect: 'google',
      passes: [png(10, 10)],
      fails: [png(11, 10)],
      code: 'media_too_large',
      message: /is 11 x 10 pixels, and at most 10 a side are accepted/,
    },
  ]
  for (const { dialect, passes, fails, code, message, number = 1 } of limited) {
    const answer = await ask(dialect, small, { content: mediaQuestion(dialect, passes) })
    t.notOk(answer instanceof Error, String(answer))
    const error = await ask(dialect, small, { content: mediaQuestion(dialect, fails) })
    checkError(t, dialect, error, code, message, mediaPlace(dialect, fails[number - 1] as MediaFile, number))
  }
})
