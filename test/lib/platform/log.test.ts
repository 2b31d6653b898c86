import t from 'tap'
import { errorWords } from '../../../lib/platform/log.ts'

t.test('the words of an error are its message', t => {
  t.equal(errorWords(new Error('the disk is full')), 'the disk is full')
  t.equal(errorWords('no error at all'), 'no error at all')
  t.equal(errorWords(undefined), 'undefined')
  t.end()
})

t.test('data that an error quotes is left out', t => {
  const database = Object.assign(new Error('invalid input syntax for type bigint: "a \'secret\' b"'), {
    severity: 'ERROR',
  })
  t.equal(errorWords(database), 'invalid input syntax for type bigint: "..."')
  t.match(
    errorWords(new SyntaxError(`Unexpected token 's', "secret" is not valid JSON`)),
    /^Unexpected token "\.\.\."/,
  )
  t.equal(
    errorWords(Object.assign(new Error('secret'), { responseCode: 550 })),
    'the mail server answered 550',
  )
  t.end()
})

t.test('the words are cut at 1,000 characters', t => {
  t.equal(errorWords(new Error('x'.repeat(5000))).length, 1000)
  t.equal(errorWords('x'.repeat(5000)).length, 1000)
  t.end()
})
