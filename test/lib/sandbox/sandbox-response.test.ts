import fc from 'fast-check'
import t from 'tap'
import { countTokens, makeReply, readPrompt, vector } from '../../../lib/sandbox/sandbox-response.ts'

await t.test('pieces join to the text for any prompt, and no cap is exceeded', async t => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.option(fc.integer({ min: 1, max: 50 })), (text, cap) => {
      const reply = makeReply(text, cap ?? undefined)
      const whole = makeReply(text, undefined)
      return (
        reply.pieces.join('') === reply.text &&
        whole.text.startsWith(reply.text) &&
        (cap === null || reply.pieces.length <= cap) &&
        reply.isCut === reply.pieces.length < whole.pieces.length &&
        reply.pieces.every(piece => piece.isWellFormed() || !text.isWellFormed())
      )
    }),
  )
  t.pass('for every text')
})

await t.test('the echo is bounded', async t => {
  const reply = makeReply('x'.repeat(100_000), undefined)

  t.ok(reply.text.length < 300)
  t.ok(reply.text.endsWith('...'))
})

await t.test('the last text of the user is found in every form of message', async t => {
  const assistant = { role: 'assistant', content: 'no' }

  t.equal(readPrompt('plain').lastText, 'plain')
  t.equal(readPrompt([{ role: 'user', content: 'a' }, assistant]).lastText, 'a')
  t.equal(
    readPrompt([{ role: 'user', content: [{ type: 'text', text: 'b' }, { type: 'image' }] }]).lastText,
    'b',
  )
  t.equal(readPrompt([{ parts: [{ text: 'c' }] }]).lastText, 'c')
  t.equal(readPrompt([{ role: 'system', content: 'no' }, assistant]).lastText, '')
  t.equal(readPrompt(7).lastText, '')
})

await t.test('a prompt has at most one token for every three bytes', async t => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), text => {
      const body = JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: text }] })
      return readPrompt([{ role: 'user', content: text }]).tokens <= Buffer.byteLength(body) / 3
    }),
  )
  t.equal(countTokens('four'), 1)
})

await t.test('a vector has unit length and the requested size', async t => {
  for (const dimensions of [1, 8, 9, 768]) {
    const values = vector('text', dimensions)
    t.equal(values.length, dimensions)
    t.ok(Math.abs(Math.hypot(...values) - 1) < 1e-9)
  }
})
