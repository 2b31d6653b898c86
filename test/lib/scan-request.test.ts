import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { generateContent } from '../../lib/dialects/google/generate-content.ts'
import { messages } from '../../lib/dialects/anthropic/messages.ts'
import type { Operation } from '../../lib/dialects/dialect.ts'
import { beginScan } from '../../lib/routes/receive-request.ts'
import { mediaQuestion } from '../fixtures/media/media-question.ts'
import { pngOfSides } from '../fixtures/small-images.ts'

const images = Array.from({ length: 1000 }, (_, index) => ({
  type: 'image/png',
  data: pngOfSides(index + 1, 9),
}))
const bodies: readonly (readonly [Operation, object])[] = [
  [generateContent, { contents: mediaQuestion('google', images) }],
  [messages, { model: 'm', messages: [{ role: 'user', content: mediaQuestion('anthropic', images) }] }],
]

await t.test('many images are read in steps, with the same facts as in one step', async t => {
  for (const [operation, content] of bodies) {
    const body = Buffer.from(JSON.stringify(content))
    const request = { headers: { 'content-type': 'application/json' }, method: 'POST' } as IncomingMessage
    const [whole, stepped] = [0, 1].map(() => {
      const scan = beginScan(operation, request, false, { foldUnderscores: false, isWhole: true })
      scan?.push(body)
      return scan
    })
    const steps = [...(stepped?.prepareEnd?.() ?? [])]
    t.ok(steps.length > 5, `${steps.length} steps`)
    const { facts } = stepped?.end() ?? {}
    t.equal(facts?.media.length, images.length)
    t.same({ facts }, { facts: whole?.end().facts })
  }
})
