import fc from 'fast-check'
import t from 'tap'
import { editDistance, nearest } from '../../../lib/platform/nearest.ts'

await t.test('the distance is the fewest edits, and a swap of neighbours is one edit', async t => {
  t.equal(editDistance('', ''), 0)
  t.equal(editDistance('listen', 'litsen'), 1)
  t.equal(editDistance('kitten', 'sitting'), 3)
  t.equal(editDistance('', 'abc'), 3)
})

await t.test('the distance is the same both ways, and zero only for the same word', async t => {
  const word = fc.string({ maxLength: 12 })
  fc.assert(
    fc.property(word, word, (one, other) => {
      const distance = editDistance(one, other)
      return (
        distance === editDistance(other, one) &&
        (distance === 0) === (one === other) &&
        distance <= Math.max(one.length, other.length) &&
        distance >= Math.abs(one.length - other.length)
      )
    }),
  )
  t.pass()
})

await t.test('the nearest name is suggested, and none if all are too different', async t => {
  t.equal(nearest('on', ['strict', 'off']), undefined, 'no letter is left')

  const names = ['listen', 'limits', 'log', 'providers']

  t.equal(nearest('provider', names), 'providers')
  t.equal(nearest('LIMITS', names), 'limits', 'case does not matter')
  t.equal(nearest('completely-different', names), undefined)
  t.equal(nearest('x', []), undefined)
})
