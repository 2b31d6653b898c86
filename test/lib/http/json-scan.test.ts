import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { JsonScanError, JsonScanner, scanJson } from '../../../lib/http/json-scan.ts'
import type { Interest } from '../../../lib/http/json-scan.ts'
import { everything, keyPool, model, refusal, scanIn } from '../../fixtures/json-scanning.ts'

/** Decodes as latin1, where every byte is one character, so that JSON.parse checks the body byte by byte. */
function isParsed(body: Buffer): boolean {
  try {
    JSON.parse(body.toString('latin1'))
    return true
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}

function typeOf(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value)
  return Array.isArray(value) ? 'array' : typeof value
}

const json = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: 'binary' }),
    fc.string({ maxLength: 80 }),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.oneof(fc.constantFrom(...keyPool), fc.string()), tie('value'), { maxKeys: 5 }),
  ),
})).value

const document = fc
  .tuple(json, fc.constantFrom('', ' ', '\t', '\r\n'))
  .map(([value, indent]) => Buffer.from(` ${indent}${JSON.stringify(value, null, indent)}\r\n`))

const significant = [...Buffer.from('{}[],:"\\0-+.eEtfnu1a \n/'), 0x00, 0x1f, 0x7f, 0x80, 0xc3, 0xef, 0xff]
const edit = fc.tuple(fc.nat(), fc.nat(2), fc.oneof(fc.constantFrom(...significant), fc.nat(255)))
const mutated = fc.tuple(document, fc.array(edit, { maxLength: 3 })).map(([source, edits]) => {
  let changed = source
  for (const [place, removed, added] of edits) {
    const at = place % (changed.length + 1)
    changed = Buffer.concat([changed.subarray(0, at), Buffer.from([added]), changed.subarray(at + removed)])
  }
  return changed
})
const chunkSizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 })

await t.test('valid JSON is the same as for JSON.parse, and so are findings in every chunking', async t => {
  let valid = 0
  let invalid = 0
  const options = { rejectDuplicates: false }
  fc.assert(
    fc.property(mutated, chunkSizes, (body, sizes) => {
      if (!isParsed(body)) {
        invalid++
        assert.throws(() => scanJson(body, everything, options), JsonScanError)
        assert.throws(() => scanIn(sizes, body, everything, options), JsonScanError)
        return
      }
      valid++
      const whole = scanJson(body, everything, options)
      assert.deepEqual(scanIn(sizes, body, everything, options), whole)
      assert.deepEqual(scanIn([1], body, everything, options), whole)
      for (const { raw, start, end, type } of whole.findings) {
        assert(raw !== undefined && raw.equals(body.subarray(start, end)))
        assert.equal(typeOf(JSON.parse(raw.toString('latin1'))), type)
      }
    }),
    { numRuns: 4000 },
  )
  t.ok(valid > 500 && invalid > 500, `${valid} valid and ${invalid} invalid bodies`)
})

await t.test('findings are the values that JSON.parse has at the same paths', async t => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('model', 'messages', 'a'), fc.array(json, { maxLength: 3 })),
      value => {
        const body = Buffer.from(JSON.stringify(value))
        const found = new Map(
          scanJson(body, everything, { rejectDuplicates: false }).findings.map(finding => [
            finding.path,
            finding,
          ]),
        )
        assert.deepEqual(JSON.parse(found.get('')?.raw?.toString() ?? ''), JSON.parse(body.toString()))
        for (const [key, items] of Object.entries(value)) {
          assert.equal(found.get(key)?.type, 'array')
          for (const [index, item] of items.entries()) {
            const finding = found.get(`${key}[${index}]`)
            assert.equal(finding?.raw?.toString(), JSON.stringify(item))
          }
        }
      },
    ),
    { numRuns: 500 },
  )
  t.end()
})

await t.test('the end of a string is found at every length and alignment', async t => {
  for (let before = 0; before < 9; before++) {
    for (let length = 0; length < 70; length++) {
      for (const tail of ['"', '\\n"', '\u0001"', 'é"']) {
        const body = Buffer.from(`${' '.repeat(before)}"${'x'.repeat(length)}${tail}`)
        if (tail.startsWith('\u0001')) assert.equal(refusal(body).offset, before + length + 1)
        else assert.equal(scanJson(body, everything).findings[0]?.end, body.length)
        // In shared memory a body may begin at any address.
        const moved = Buffer.concat([Buffer.alloc(length % 8, '"'), body, Buffer.from('"')]).subarray(
          length % 8,
          -1,
        )
        if (!tail.startsWith('\u0001'))
          assert.equal(scanJson(moved, everything).findings[0]?.end, body.length)
      }
    }
  }
  t.pass('every length and alignment')
})

await t.test('numbers, literals and white space follow RFC 8259', async t => {
  for (const valid of [
    '0',
    '-0',
    '1e400',
    '-1.5E+07',
    '10',
    '1.0',
    'true',
    ' null\r\n',
    '"\\ud800"',
    '[ ]',
    '{\t}',
  ]) {
    t.equal(scanIn([1], Buffer.from(valid), everything).findings.length, 1, JSON.stringify(valid))
  }
  for (const invalid of [
    '01',
    '-',
    '1.',
    '.5',
    '+1',
    '1e',
    '1e+',
    '0x1',
    'NaN',
    'tru',
    'truee',
    '[1,]',
    '{"a":1,}',
    '[1 2]',
    "{'a':1}",
    '"\t"',
    '"\\x41"',
    '"\\u12g4"',
    '{}{}',
    '[}',
    '{]',
    ']',
    '\u00a0{}',
    '{"a"}',
    '{1:2}',
    '/**/1',
  ]) {
    t.match(refusal(invalid).reason, /^(?:syntax|cut_off)$/, JSON.stringify(invalid))
  }
})

await t.test('the reasons for an empty body, a byte order mark and a cut body are specific', async t => {
  t.match(refusal(''), { reason: 'syntax', message: /empty/ })
  t.equal(refusal(' \n').reason, 'cut_off')
  t.match(refusal('\ufeff{}'), { reason: 'syntax', message: /byte order mark/, offset: 0 })
  const cut = refusal('{"model":"m","messages":[{"a":"b"},{"a":"c')
  t.match(cut, { reason: 'cut_off', path: 'messages[1].a', offset: 42 })
  t.match(cut.message, /messages\[1\]\.a.*too early/)
})

await t.test('an error names the path and the byte, and later calls throw again', async t => {
  const scanner = new JsonScanner(everything)
  t.throws(() => scanner.push(Buffer.from('{"messages":[1,{"a":tru3')), {
    reason: 'syntax',
    path: 'messages[1].a',
    offset: 23,
    message: /'true' is misspelled \(byte 23, in messages\[1\]\.a\)/,
  })
  t.throws(() => scanner.push(Buffer.from('1')), JsonScanError)
  t.throws(() => scanner.end(), JsonScanError)
})

await t.test('nesting is refused at level 513, with any interest', async t => {
  for (const interest of [everything, model]) {
    for (const opening of ['[', '{"a":']) {
      const error = refusal(opening.repeat(10_000), interest)
      t.match(error, { reason: 'too_deep', offset: 512 * opening.length })
      t.ok(error.message.length < 4000)
    }
  }
  const deep = `${'['.repeat(512)}${']'.repeat(512)}`
  t.equal(scanJson(Buffer.from(deep), model).findings.length, 0)
  t.equal(refusal('[[1]]', model, { depthMax: 1 }).reason, 'too_deep')
})

await t.test('a body with a million other keys is scanned', async t => {
  const keys = Array.from({ length: 1_000_000 }, (_, index) => `"k${index}":1`)
  const body = Buffer.from(`{${keys.join()},"model":"m"}`)
  const { findings } = scanJson(body, model)
  t.equal(findings.length, 1)
  t.equal(findings[0]?.raw?.toString(), '"m"')
})

await t.test('findings and kept values are bounded', async t => {
  const many = `[${'1,'.repeat(20)}1]`
  t.match(refusal(many, { items: { name: 'item' } }, { findingsMax: 20 }), {
    reason: 'too_many',
    path: '[20]',
  })
  const long = Buffer.from(`{"model":"${'x'.repeat(2000)}"}`)
  t.match(refusal(long, model, { valueBytesMax: 2001 }), {
    reason: 'value_too_large',
    path: 'model',
    offset: 9,
  })
  t.equal(scanJson(long, model, { valueBytesMax: 2002 }).findings.length, 1)
  const scanner = new JsonScanner(model, { valueBytesMax: 100 })
  scanner.push(Buffer.from('{"model":"'))
  t.throws(() => scanner.push(Buffer.alloc(200, 'x')), { message: /larger than 100 bytes/ })
})

await t.test('a span has offsets only, and containers come before their members', async t => {
  const interest: Interest = {
    name: 'root',
    members: new Map<string, Interest>([['messages', { name: 'all', items: { name: 'one', keep: 'span' } }]]),
  }
  t.same(scanJson(Buffer.from(' {"messages" : [ 1 ,{"x":[]}] } '), interest).findings, [
    { name: 'root', path: '', type: 'object', start: 1, end: 31 },
    { name: 'all', path: 'messages', type: 'array', start: 15, end: 29 },
    { name: 'one', path: 'messages[0]', type: 'number', start: 17, end: 18 },
    { name: 'one', path: 'messages[1]', type: 'object', start: 20, end: 28 },
  ])
})

await t.test('kept values do not share memory with the pushed chunks', async t => {
  const chunk = Buffer.from('{"model":"gpt"}')
  const scanner = new JsonScanner(model)
  scanner.push(chunk)
  chunk.fill(0)
  t.equal(scanner.end().findings[0]?.raw?.toString(), '"gpt"')
})

await t.test('findings can be read before the document ends; open ones have no end', async t => {
  const scanner = new JsonScanner({ items: { name: 'item', keep: 'value' } })
  scanner.push(Buffer.from('["first","sec'))
  t.match(scanner.findings, [
    { path: '[0]', end: 8 },
    { path: '[1]', end: -1 },
  ])
  scanner.push(Buffer.from('ond"]'))
  t.equal(scanner.findings[1]?.raw?.toString(), '"second"')
})
