import t from 'tap'
import { substitute } from '../../../lib/config/environment.ts'

await t.test('variables are put in wherever they stand in a string', async t => {
  const { value, missing } = substitute(
    { url: 'http://user:${PASSWORD}@${HOST}:3128', list: [['${HOST}']], number: 3, none: null },
    { PASSWORD: 'p', HOST: 'h' },
  )

  t.same(value, { url: 'http://user:p@h:3128', list: [['h']], number: 3, none: null })
  t.same(missing, [])
})

await t.test('a variable that is not set or is empty makes the whole string missing', async t => {
  const { value, missing } = substitute({ a: 'x${GONE}${EMPTY}', b: '${EMPTY}' }, { EMPTY: '' })

  t.same(value, { a: undefined, b: undefined })
  t.same(missing, [
    { path: ['a'], name: 'GONE' },
    { path: ['a'], name: 'EMPTY' },
    { path: ['b'], name: 'EMPTY' },
  ])
})

await t.test('two dollars keep a text as it is, and a value is not looked at again', async t => {
  const { value } = substitute({ a: '$${HOME}', b: '${X}', c: '$HOME' }, { X: '${HOME}', HOME: 'no' })

  t.same(value, { a: '${HOME}', b: '${HOME}', c: '$HOME' })
})

await t.test('braces that hold no name are told apart', async t => {
  const { malformed } = substitute(['${a-b}', '${}'], {})

  t.same(malformed, [
    { path: [0], text: '${a-b}' },
    { path: [1], text: '${}' },
  ])
})
