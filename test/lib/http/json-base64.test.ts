import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { JsonScanner, scanJson } from '../../../lib/http/json-scan.ts'
import type { Base64Facts, Interest } from '../../../lib/http/json-scan.ts'

const interest: Interest = { members: new Map([['data', { name: 'data', keep: 'base64' }]]) }

function measure(spelled: string, chunkBytes = 1_000_000): Base64Facts | undefined {
  const body = Buffer.from(`{"data":${spelled}}`)
  const scanner = new JsonScanner(interest)
  for (let start = 0; start < body.length; start += chunkBytes) {
    scanner.push(body.subarray(start, start + chunkBytes))
  }
  return scanner.end().findings[0]?.base64
}

const quoted = (text: string) => JSON.stringify(text)
const bytes = (length: number) =>
  Buffer.from(Array.from({ length }, (_, index) => (index * 7 + (index >> 8)) & 255))

const spellings: ((content: Buffer) => string)[] = [
  content => quoted(content.toString('base64')),
  content => quoted(content.toString('base64').replaceAll('=', '')),
  content => quoted(content.toString('base64url')),
  content => quoted(content.toString('base64')).replaceAll('/', '\\/'),
  content => quoted(content.toString('base64')).replaceAll('+', '\\u002B'),
  content => quoted(`data:image/png;base64,${content.toString('base64')}`).replaceAll('/', '\\/'),
]

await t.test('base64 is measured in every spelling and chunking, and its head is kept', async t => {
  const chunkBytes = fc.constantFrom(1, 2, 3, 5, 64, 1_000_000)
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom(...spellings),
      chunkBytes,
      (array, spell, size) => {
        const content = Buffer.from(array)
        const facts = measure(spell(content), size)
        assert.equal(facts?.isValid, true)
        assert.equal(facts.bytes, content.length)
        assert(facts.head.equals(content))
      },
    ),
    { numRuns: 1000 },
  )
  t.end()
})

await t.test('long content is measured exactly around every boundary of the pieces', async t => {
  const edge = 12_288
  for (const length of [
    edge - 20,
    edge - 17,
    edge - 16,
    edge - 3,
    edge - 2,
    edge - 1,
    edge,
    edge + 1,
    edge + 2,
    2 * edge,
    100_001,
  ]) {
    const content = bytes(length)
    for (const [index, spell] of spellings.entries()) {
      const facts = measure(spell(content), 9973)
      assert.equal(facts?.bytes, length, `${length} spelled ${index}`)
      assert.equal(facts.isValid, true, `${length} spelled ${index}`)
      assert(facts.head.equals(content.subarray(0, 4096)))
    }
  }
  t.pass('every length in every spelling')
})

await t.test('a character that does not decode makes base64 invalid, at any position', async t => {
  const long = bytes(50_000).toString('base64')
  for (const wrong of ['!', ' ', '\n', 'é', '=', '%2B', '\u0141']) {
    for (const place of [0, 3, 1000, 16_383, 16_384, 16_385, 40_000]) {
      const text = long.slice(0, place) + wrong + long.slice(place)
      t.equal(measure(quoted(text))?.isValid, false, `${JSON.stringify(wrong)} at ${place}`)
    }
  }
  for (const text of ['A', 'AAAAA', 'AA=', 'AAA==', 'A===', '====', '=', 'AA==AAAA', 'AAAA====']) {
    t.equal(measure(quoted(text))?.isValid, false, text)
  }
})

await t.test('data URLs declare their type, and only base64 ones are valid', async t => {
  const content = 'AAAA'
  t.match(measure(quoted(`data:image/png;base64,${content}`)), {
    isDataUrl: true,
    declaredType: 'image/png',
    bytes: 3,
    isValid: true,
  })
  t.match(measure(quoted(`DATA:Image/JPEG;name=x;BASE64,${content}`)), {
    declaredType: 'image/jpeg',
    bytes: 3,
    isValid: true,
  })
  t.match(measure(quoted(`data:;base64,${content}`)), { declaredType: undefined, bytes: 3, isValid: true })
  t.match(measure(quoted('data:text/plain,hello')), { isDataUrl: true, isValid: false })
  t.match(measure(quoted('data:image/png;base64')), { isDataUrl: true, isValid: false })
  t.match(measure(quoted(`data:image/png;base64,${content},${content}`)), { isValid: false })
})

await t.test('URLs and ids of files are distinguished from content', async t => {
  for (const url of [
    'https://a.b/c.png',
    'HTTP://x',
    'gs://bucket/x',
    `https://x/${'y'.repeat(15_000)}`,
    'file-abc123',
    'file_011C',
    'files/abc',
  ]) {
    const facts = measure(quoted(url), 1000)
    t.match(facts, { isUrl: true, bytes: 0, isValid: true }, url.slice(0, 30))
    t.equal(facts?.head.length, 0)
  }
  t.match(measure(quoted(`x:${'A'.repeat(40_000)}`), 1000), { isUrl: undefined, isValid: false }, 'too long')
  t.equal(measure(quoted(`file${'A'.repeat(40_000)}`))?.isUrl, undefined)
  t.equal(measure(quoted(`files/${'A'.repeat(40_002)}`))?.bytes, 30_006, 'too long for an id')
})

await t.test('an empty string has no bytes, and other types are not measured', async t => {
  t.match(measure('""'), { bytes: 0, isValid: true })
  for (const value of ['1', 'null', '{"data":"AAAA"}', '["AAAA"]']) t.equal(measure(value), undefined, value)
})

await t.test('a shorter string is not mixed with bytes of an earlier one', t => {
  const list: Interest = { items: { name: 'item', keep: 'base64' } }
  const body = Buffer.from(JSON.stringify(['data:image/png;base64,AAAA', '', 'data:x', 'dat', 'data']))
  const facts = scanJson(body, list).findings.map(({ base64 }) => base64)
  t.same(
    facts.map(fact => fact?.isDataUrl === true),
    [true, false, true, false, false],
  )
  t.match(facts[1], { bytes: 0, isValid: true })
  t.end()
})

await t.test('one scan measures many strings, and passes on their decoded bytes', async t => {
  const contents = [bytes(30_000), bytes(5), Buffer.alloc(0), bytes(16_384)]
  const decoded = new Map<string, Buffer[]>()
  const list: Interest = { items: { name: 'item', keep: 'base64' } }
  const body = Buffer.from(JSON.stringify(contents.map(content => content.toString('base64'))))
  const { findings } = scanJson(body, list, {
    onBase64: (path, piece) => decoded.set(path, [...(decoded.get(path) ?? []), Buffer.from(piece)]),
  })
  for (const [index, content] of contents.entries()) {
    t.equal(findings[index]?.base64?.bytes, content.length)
    t.ok(findings[index]?.base64?.head.equals(content.subarray(0, 4096)))
    t.ok(Buffer.concat(decoded.get(`[${index}]`) ?? []).equals(content))
  }
})
