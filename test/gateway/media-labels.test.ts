import t from 'tap'
import { startCountingGateway } from '../fixtures/counting-gateway.ts'
import { send } from '../fixtures/http-client.ts'
import { mediaQuestion, type MediaFile } from '../fixtures/media/media-question.ts'
import { pdf } from '../fixtures/media/pdf-files.ts'
import { jpegOfSides, pixels, pngOfSides } from '../fixtures/small-images.ts'

const sides = { imageSideMax: 100 }
const gateway = await startCountingGateway(t, {
  sections: {
    plugins: [
      'auth',
      'model-router',
      { 'size-limit': { openai: sides, google: sides } },
      'upstream-proxy',
      'usage-tap',
    ],
  },
})

function ask(dialect: 'openai' | 'google', files: readonly MediaFile[]) {
  const content = mediaQuestion(dialect, files)
  return send(
    gateway.url +
      (dialect === 'openai' ? '/v1/chat/completions' : '/v1beta/models/some-model:generateContent'),
    {
      headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
      body: JSON.stringify(
        dialect === 'openai'
          ? { model: 'some-model', max_tokens: 9, messages: [{ role: 'user', content }] }
          : { contents: content, generationConfig: { maxOutputTokens: 9 } },
      ),
    },
  )
}

const places = {
  openai: 'messages[0].content[2].image_url.url',
  google: 'contents[0].parts[2].inlineData',
} as const

for (const dialect of ['openai', 'google'] as const) {
  const right: MediaFile = { type: 'image/png', data: pixels['image/png'] }

  await t.test(`${dialect}: an image with a wrong label is accepted with a warning`, async t => {
    const wrong: MediaFile = { type: 'image/jpeg', data: pixels['image/webp'] }

    const answer = await ask(dialect, [right, wrong])

    t.equal(answer.status, 200, answer.body.toString())
    t.equal(
      answer.headers['x-gateway-warning'],
      `media_label; part=${places[dialect]}; called=image/jpeg; found=image/webp`,
    )
    t.ok(gateway.upstream.requests.at(-1)?.body.includes(wrong.data.toString('base64')), 'unchanged')
    t.equal((await ask(dialect, [right])).headers['x-gateway-warning'], undefined)
  })

  await t.test(`${dialect}: an image with a wrong label is measured by its real type`, async t => {
    for (const [type, data] of [
      ['image/png', jpegOfSides(101, 9)],
      ['image/webp', pngOfSides(101, 9)],
    ] as const) {
      const answer = await ask(dialect, [right, { type, data }])

      t.equal(answer.status, 413)
      t.match(answer.body.toString(), /is 101 x 9 pixels/)
    }
  })

  await t.test(`${dialect}: a file that is no image is refused in the place of an image`, async t => {
    const sent = gateway.upstream.requests.length
    for (const data of [pdf(1), Buffer.from('just words'), Buffer.from('504b0304'.padEnd(200, '0'), 'hex')]) {
      const answer = await ask(dialect, [right, { type: 'image/png', data }])

      t.equal(answer.status, 400)
      t.match(answer.body.toString(), /by its content/)
    }
    t.equal(gateway.upstream.requests.length, sent)
  })
}

await t.test('characters that no header can have are replaced in the warning', async t => {
  const odd = { type: 'image/\u{1f600}\r\nset-cookie: a=b', data: pixels['image/png'] }

  const answer = await ask('google', [odd])

  t.equal(answer.status, 200, answer.body.toString())
  t.match(answer.headers['x-gateway-warning'], /; called=image\/__+set-cookie__a_b; found=image\/png$/)
  t.equal(answer.headers['set-cookie'], undefined)
})
