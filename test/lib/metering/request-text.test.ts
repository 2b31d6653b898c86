import t from 'tap'
import { chat } from '../../../lib/dialects/openai/chat.ts'
import { requestText } from '../../../lib/metering/request-text.ts'
import { factsOf } from '../dialects/read-answer.ts'

const picture = `data:image/png;base64,${Buffer.alloc(3000, 7).toString('base64')}`
const image = { type: 'image_url', image_url: { url: picture } }
const body = Buffer.from(
  JSON.stringify({
    model: 'm',
    messages: [{ role: 'user', content: [image, { type: 'text', text: 'What?' }, image] }],
  }),
)
const { media, textBytes } = factsOf(chat, body.toString())

await t.test('inline media are left out, and the rest is JSON still', async t => {
  const text = requestText(body, media, 100_000)
  const empty = { ...image, image_url: { url: '' } }
  t.same(JSON.parse(text.toString()), {
    model: 'm',
    messages: [{ role: 'user', content: [empty, { type: 'text', text: 'What?' }, empty] }],
  })
  t.equal(text.length, textBytes + 4, 'but for two pairs of quotes')
})

await t.test('a sample is a copy of the beginning, as long as asked', async t => {
  t.equal(requestText(body, media, 150).length, 150)
  const plain = requestText(body, [], 10)
  t.equal(plain.toString(), body.toString('utf8', 0, 10))
  t.not(plain.buffer, body.buffer)
})
