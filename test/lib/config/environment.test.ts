import t from 'tap'
import { substitute } from '../../../lib/config/environment.ts'

await t.test('variables are replaced anywhere in a string, at any depth', async t => {
  const { value, missing } = substitute(
    { url: 'http://user:${PASSWORD}@${HOST}:3128', list: [['${HOST}']], number: 3, none: null },
    { PASSWORD: 'p', HOST: 'h' },
  )

  t.same(value, { url: 'http://user:p@h:3128', list: [['h']], number: 3, none: null })
  t.same(missing, [])
})

await t.test('a variable that is unset or empty makes the whole string missing', async t => {
  const { value, missing } = substitute({ a: 'x${GONE}${EMPTY}', b: '${EMPTY}' }, { EMPTY: '' })

  t.same(value, { a: undefined, b: undefined })
  t.same(missing, [
    { path: ['a'], name: 'GONE' },
    { path: ['a'], name: 'EMPTY' },
    { path: ['b'], name: 'EMPTY' },
  ])
})

await t.test('two dollars escape a variable, and a replaced value is not expanded again', async t => {
  const { value } = substitute({ a: '$${HOME}', b: '${X}', c: '$HOME' }, { X: '${HOME}', HOME: 'no' })

  t.same(value, { a: '${HOME}', b: '${HOME}', c: '$HOME' })
})

await t.test('braces without a valid name are reported as malformed', async t => {
  const { malformed } = substitute(['${a-b}', '${}'], {})

  t.same(malformed, [
    { path: [0], text: '${a-b}' },
    { path: [1], text: '${}' },
  ])
})
