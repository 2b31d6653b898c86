import fc from 'fast-check'
import t from 'tap'
import { meters, readAgain, tokensOf, type Meters } from '../../../lib/money/usage.ts'

const used: fc.Arbitrary<Meters> = fc.dictionary(
  fc.constantFrom(...meters),
  fc.nat({ max: 10_000_000 }),
) as fc.Arbitrary<Meters>

await t.test('all tokens of a turn are read again in the next, each once and as input', async t => {
  fc.assert(
    fc.property(used, before => {
      const after = readAgain(before)
      const isInput = Object.keys(after).every(meter => /^(?:input|audioInput|imageInput)$/.test(meter))
      return isInput && tokensOf(after) === tokensOf(before)
    }),
  )
  t.same(
    readAgain({
      input: 1,
      cachedInput: 2,
      cacheWrite1h: 3,
      output: 4,
      audioOutput: 5,
      searches: 6,
    }),
    { input: 10, audioInput: 5 },
    'audio stays audio, and no other meter is counted',
  )
})
