import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { cutQueryParameter, queryParameters } from '../../../lib/http/query.ts'

await t.test('a parameter is cut and its value decoded, the other bytes stay', async t => {
  for (const [target, value, rest] of [
    ['/a', undefined, '/a'],
    ['/a?', undefined, '/a?'],
    ['/a?key=k', 'k', '/a'],
    ['/a?key=k&alt=sse', 'k', '/a?alt=sse'],
    ['/a?alt=sse&key=k', 'k', '/a?alt=sse'],
    ['/a?x=%2f+%zz&key=gw-%61&&y', 'gw-a', '/a?x=%2f+%zz&&y'],
    ['/a?key=one&b=1&key=two', 'one', '/a?b=1'],
    ['/a?%6bey=k', 'k', '/a'],
    ['/a?k%65%79=k&b', 'k', '/a?b'],
    ['/a?key', '', '/a'],
    ['/a?key=', '', '/a'],
    ['/a?key=a=b', 'a=b', '/a'],
    ['/a?monkey=1&keys=2&Key=3', undefined, '/a?monkey=1&keys=2&Key=3'],
    ['/a?x=?key=1', undefined, '/a?x=?key=1'],
    ['/key=1?b', undefined, '/key=1?b'],
    ['/a?%=1&key=%', '%', '/a?%=1'],
  ] as const) {
    const cut = cutQueryParameter(target, 'key')
    t.equal(cut.rest, rest)
    t.equal(cut.values[0], value, target)
    t.equal(queryParameters(target).find(({ name }) => name === 'key')?.value, value)
  }
})

await t.test('a semicolon separates parameters too', t => {
  t.same(queryParameters('/a?x=1;%66ields=b%3Bc&d'), [
    { name: 'x', value: '1' },
    { name: 'fields', value: 'b;c' },
    { name: 'd', value: '' },
  ])
  t.same(queryParameters('/a;fields=b'), [])
  t.end()
})

await t.test('every spelling of the name is cut, and URLSearchParams agrees on the values', async t => {
  const spelled = fc.constantFrom('key', '%6bey', 'ke%79', '%6B%65%79', 'kex', 'k', '')
  const parameter = fc.tuple(
    spelled,
    fc.webQueryParameters().map(text => text.replaceAll(/[&+]/g, '')),
  )
  fc.assert(
    fc.property(fc.array(parameter), parameters => {
      const target = `/p?${parameters.map(([name, value]) => `${name}=${value}`).join('&')}`
      const cut = cutQueryParameter(target, 'key')
      const standard = new URLSearchParams(target.slice(3))
      assert.deepEqual(cut.values, standard.getAll('key'))
      assert.ok(!queryParameters(cut.rest).some(({ name }) => name === 'key'))
      standard.delete('key')
      const rest = cut.rest.includes('?') ? cut.rest.slice(cut.rest.indexOf('?') + 1) : ''
      assert.equal(new URLSearchParams(rest).toString(), standard.toString())
    }),
  )
  t.end()
})
