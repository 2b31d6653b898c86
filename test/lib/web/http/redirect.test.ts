import fc from 'fast-check'
import t from 'tap'
import { ownPath } from '../../../../lib/web/http/redirect.ts'

await t.test('a path on the site is kept', t => {
  for (const path of ['/', '/security', '/charges?model=a%20b&from=2026-01-01', '/keys/01abc'])
    t.equal(ownPath(path), path)
  t.end()
})

await t.test('an address that could lead to another site becomes the start page', t => {
  const others = [
    undefined,
    '',
    'security',
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example/',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    ' //evil.example',
    'javascript:alert(1)',
    '/.//evil.example',
    '/a/..//evil.example',
  ]
  for (const path of others) t.equal(ownPath(path), '/', String(path))
  t.end()
})

await t.test('a browser stays on the site for any path', t => {
  const pieces = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '//',
    ':',
    '@',
    '?',
    '#',
    'evil.example',
    '\t',
    '%2f',
    'http:',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), parts => {
      const path = ownPath(parts.join(''))
      return new URL(path, 'https://own.example').origin === 'https://own.example'
    }),
    { numRuns: 2000 },
  )
  t.end()
})
