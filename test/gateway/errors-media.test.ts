import t from 'tap'
import type { DialectName } from '../../lib/dialects/dialect.ts'
import type { ErrorCode } from '../../lib/pipeline/errors.ts'
import { checkNoTrace, startCountingGateway } from '../fixtures/counting-gateway.ts'
import { ask, checkError, dialectNames } from '../fixtures/sdk-errors.ts'
import { pixels, png, pngOfBytes, pngOfSides } from '../fixtures/small-images.ts'

const small = { imagesMax: 3, imageBytesMax: 4096 }
const gateway = await startCountingGateway(t, {
  sections: {
    // The limits for Anthropic's format are the shipped ones: 100 images of 5 MB.
    plugins: [
      'auth',
      'model-router',
      { 'size-limit': { openai: small, google: small } },
      'upstream-proxy',
      'usage-tap',
    ],
  },
})
const limits = { openai: small, anthropic: { imagesMax: 100, imageBytesMax: 5_242_880 }, google: small }

interface Image {
  readonly type: string
  readonly data: Buffer | string
}

/** A prompt with images, in the form of each dialect. */
function question(dialect: DialectName, images: readonly Image[]): unknown {
  const encoded = images.map(({ type, data }) => ({
    type,
    data: typeof data === 'string' ? data : data.toString('base64'),
  }))
  if (dialect === 'openai') {
    const parts = encoded.map(({ type, data }) => ({
      type: 'image_url',
      image_url: { url: `data:${type};base64,${data}` },
    }))
    return [{ type: 'text', text: 'What is this?' }, ...parts]
  }
  if (dialect === 'anthropic') {
    const parts = encoded.map(({ type, data }) => ({
      type: 'image',
      source: { type: 'base64', media_type: type, data },
    }))
    return [{ type: 'text', text: 'What is this?' }, ...parts]
  }
  const parts = encoded.map(({ type, data }) => ({ inlineData: { mimeType: type, data } }))
  return [{ role: 'user', parts: [{ text: 'What is this?' }, ...parts] }]
}

/** The place of the image with this number, counted from 1. */
const place = (dialect: DialectName, number: number): string =>
  ({
    openai: `messages[0].content[${number}].image_url.url`,
    anthropic: `messages[0].content[${number}].source`,
    google: `contents[0].parts[${number}].inlineData`,
  })[dialect]

const pixel: Image = { type: 'image/png', data: pixels['image/png'] }

for (const dialect of dialectNames) {
  const { imagesMax, imageBytesMax } = limits[dialect]

  await t.test(`${dialect}: images of every accepted type are forwarded unchanged`, async t => {
    const images = Object.entries(pixels).map(([type, data]) => ({ type, data }))
    for (const image of [...images, { type: 'image/png', data: png(40, 40) }]) {
      const answer = await ask(dialect, gateway, { content: question(dialect, [image]) })
      t.notOk(answer instanceof Error, `${image.type}: ${String(answer)}`)
      t.ok(gateway.upstream.requests.at(-1)?.body.includes(image.data.toString('base64')))
    }
  })

  await t.test(`${dialect}: the most and the largest allowed images are accepted`, async t => {
    const most = Array.from({ length: imagesMax }, () => pixel)
    const largest = { type: 'image/png', data: pngOfBytes(imageBytesMax) }
    for (const images of [most, [largest]]) {
      const answer = await ask(dialect, gateway, { content: question(dialect, images) })
      t.notOk(answer instanceof Error, String(answer))
    }
  })

  await t.test(`${dialect}: image/jpg is accepted as a name of image/jpeg`, async t => {
    const content = question(dialect, [{ type: 'image/jpg', data: pixels['image/jpeg'] }])
    t.notOk((await ask(dialect, gateway, { content })) instanceof Error)
  })

  const refused: readonly {
    readonly what: string
    readonly images: readonly Image[]
    readonly code: ErrorCode
    readonly message: RegExp
    readonly number: number
  }[] = [
    {
      what: 'one image too many',
      images: Array.from({ length: imagesMax + 1 }, () => pixel),
      code: 'media_too_many',
      message: new RegExp(`has ${imagesMax + 1} images, and at most ${imagesMax} are accepted`),
      number: imagesMax + 1,
    },
    {
      what: 'an image one byte too large',
      images: [pixel, { type: 'image/png', data: pngOfBytes(imageBytesMax + 1) }],
      code: 'media_too_large',
      message: new RegExp(`is ${imageBytesMax + 1} bytes, and at most ${imageBytesMax} are accepted`),
      number: 2,
    },
    {
      what: 'a bitmap labelled as a PNG',
      images: [{ type: 'image/png', data: Buffer.concat([Buffer.from('BM'), Buffer.alloc(100)]) }],
      code: 'media_type',
      message: /is (image\/bmp|of no known type) by its content; accepted are image\/jpeg, image\/png/,
      number: 1,
    },
    ...(dialect === 'anthropic'
      ? [
          {
            what: 'an image with a wrong label',
            images: [pixel, { type: 'image/jpeg', data: pixels['image/webp'] }],
            code: 'media_type',
            message: /is called image\/jpeg and is image\/webp by its content/,
            number: 2,
          } as const,
        ]
      : []),
    {
      what: 'an archive labelled as an image',
      images: [
        { type: 'image/png', data: Buffer.concat([Buffer.from('504b0304', 'hex'), Buffer.alloc(99)]) },
      ],
      code: 'media_type',
      message: /is called image\/png and is application\/zip by its content/,
      number: 1,
    },
    {
      what: 'a web page labelled as an image',
      images: [{ type: 'image/png', data: Buffer.from('<!DOCTYPE html><html>not found</html>') }],
      code: 'media_type',
      message: /is called image\/png and is text\/html by its content/,
      number: 1,
    },
    {
      what: 'an image truncated between two groups of base64',
      images: [{ type: 'image/png', data: png(40, 40).toString('base64').slice(0, 800) }],
      code: 'media_invalid',
      message: /cannot be read: it is cut off \(600 bytes\)/,
      number: 1,
    },
    {
      what: 'an image with too many pixels',
      images: [{ type: 'image/png', data: pngOfSides(dialect === 'anthropic' ? 8001 : 100_000, 100_000) }],
      code: 'media_too_large',
      message: /is \d+ x 100000 pixels, and at most \d+ (a side|in all) are accepted/,
      number: 1,
    },
    {
      what: 'a RAR archive labelled as an image',
      images: [{ type: 'image/png', data: Buffer.from('526172211a0700'.padEnd(200, '0'), 'hex') }],
      code: 'media_type',
      message: /is application\/x-rar-compressed by its content; accepted are/,
      number: 1,
    },
    {
      what: 'plain text labelled as an image',
      images: [{ type: 'image/png', data: Buffer.from('just words') }],
      code: 'media_type',
      message: /is of no known type by its content/,
      number: 1,
    },
    {
      what: 'broken base64',
      images: [{ type: 'image/png', data: `${pixels['image/png'].toString('base64').slice(0, 40)}*?` }],
      code: 'media_invalid',
      message: /is not valid base64/,
      number: 1,
    },
  ]
  for (const { what, images, code, message, number } of refused) {
    await t.test(`${dialect}: ${what} is refused with ${code} and its place`, async t => {
      await checkNoTrace(t, gateway, dialect, async () => {
        const error = await ask(dialect, gateway, { content: question(dialect, images) })
        checkError(t, dialect, error, code, message, place(dialect, number))
      })
    })
  }
}
