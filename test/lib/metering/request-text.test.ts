import t from 'tap'
import { memoryBody } from '../../../lib/bodies/outgoing-body.ts'
import { chat } from '../../../lib/dialects/openai/chat.ts'
import { requestText } from '../../../lib/metering/estimate-usage.ts'
import { factsOf } from '../dialects/read-response.ts'

const imageUrl = `data:image/png;base64,${Buffer.alloc(3000, 7).toString('base64')}`
const image = { type: 'image_url', image_url: { url: imageUrl } }
const bytes = Buffer.from(
  JSON.stringify({
    model: 'm',
    messages: [{ role: 'user', content: [image, { type: 'text', text: 'What?' }, image] }],
  }),
)
const { media, textBytes } = factsOf(chat, bytes.toString())
const body = memoryBody(bytes)

await t.test('inline media are left out, and the rest is still JSON', async t => {
  const text = await requestText(body, media, 100_000)
  const empty = { ...image, image_url: { url: '' } }
  t.same(JSON.parse(text.toString()), {
    model: 'm',
    messages: [{ role: 'user', content: [empty, { type: 'text', text: 'What?' }, empty] }],
  })
  t.equal(text.length, textBytes + 4, 'plus two pairs of quotes')
})

await t.test('a sample is a copy of the beginning, of the requested length', async t => {
  t.equal((await requestText(body, media, 150)).length, 150)
  const plain = await requestText(body, [], 10)
  const beginning = bytes.toString('utf8', 0, 10)
  t.equal(plain.toString(), beginning)
  // Both may be in the same pool of Node, so comparing their memory proves nothing: overwrite one instead.
  plain.fill(0)
  t.equal(bytes.toString('utf8', 0, 10), beginning)
})
