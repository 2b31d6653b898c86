import fc from 'fast-check'
import t from 'tap'
import { TextSample } from '../../../lib/dialects/text-sample.ts'

const part = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .tuple(fc.constantFrom('a', 'Я', '的', '😀', '\ud83d'), fc.integer({ min: 0, max: 9000 }))
    .map(([one, count]) => one.repeat(count)),
)

await t.test('every byte is counted, and 16 KB are kept, half of them from the beginning', async () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), parts => {
      const sample = new TextSample()
      let byteCount = 0
      for (const one of parts) byteCount += sample.add(one)
      const whole = Buffer.concat(parts.map(one => Buffer.from(one)))
      const kept = sample.text?.bytes ?? Buffer.alloc(0)
      const same = whole.length <= 16_384 - 3 ? kept.length : 8192
      return (
        byteCount === whole.length &&
        kept.subarray(0, same).equals(whole.subarray(0, same)) &&
        kept.length <= 16_384 &&
        // A character that does not fit is left out.
        kept.length >= Math.min(whole.length, 16_384 - 3)
      )
    }),
  )
})

await t.test('the second half of the sample is the end of a longer text', async t => {
  const sample = new TextSample()
  for (let count = 0; count < 3000; count++) sample.add('prose ')
  for (let count = 0; count < 9000; count++) sample.add('7')
  const text = sample.text?.bytes.toString() ?? ''

  t.equal(text.length, 16_384)
  t.equal(text.slice(0, 8190), 'prose '.repeat(1365))
  t.ok((text.slice(8192).match(/7/g) ?? []).length > 8180, 'the second half is the end')
})

await t.test('escaped text is kept escaped, and not mixed with plain text', async t => {
  const sample = new TextSample()
  t.equal(sample.text, undefined)
  sample.addEscaped(Buffer.from('a\\n'))
  t.equal(sample.add('b'), 1)
  sample.addEscaped(Buffer.alloc(20_000, 'c'))
  t.equal(sample.text?.isEscaped, true)
  t.equal(sample.text?.bytes.length, 16_384)
  t.ok(sample.text?.bytes.toString().startsWith('a\\nccc'))
})
