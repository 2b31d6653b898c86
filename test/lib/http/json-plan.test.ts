import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { fold, scanJson } from '../../../lib/http/json-scan.ts'
import type { Interest } from '../../../lib/http/json-scan.ts'
import { everything, model, refusal, scanIn } from '../../fixtures/json-scanning.ts'

await t.test('keys match with any escapes and case, and the path shows them unescaped', async t => {
  for (const key of ['model', 'Model', 'mod\\u0065l', '\\u006D\\u006f\\u0064\\u0065\\u006c']) {
    for (const size of [1, 3, 1000]) {
      const { findings } = scanIn([size], Buffer.from(`{"x":1,"${key}" : "m"}`), model)
      t.equal(findings.length, 1, key)
      t.equal(findings[0]?.path, JSON.parse(`"${key}"`))
      t.equal(findings[0]?.raw?.toString(), '"m"')
    }
  }
  for (const key of [
    'mode',
    'models',
    '_model',
    'mo_del',
    'model ',
    'm\\u00f6del',
    'möd',
    'x'.repeat(3000),
  ]) {
    t.equal(scanIn([7], Buffer.from(`{"${key}":1}`), model).findings.length, 0, key.slice(0, 20))
  }
  t.equal(fold('\u017ftream_\u212aey', true), 'streamkey')
  const stream: Interest = { members: new Map([['messages', { name: 'found' }]]) }
  t.equal(scanJson(Buffer.from('{"me\u017fsages":1}'), stream).findings.length, 1, 'Go folds the long s too')
})

await t.test('keys match exactly the names that fold to the same text', async t => {
  const names = ['inlinedata', 'model', 'mode', 'm', 'maxtokens', '']
  const table: Interest = { members: new Map(names.map(name => [name, { name }])) }
  const near = fc.constantFrom(...'inldatamoexkstINLMO_ſK\u212aé')
  fc.assert(
    fc.property(
      fc.oneof(fc.constantFrom(...names), fc.string({ unit: near, maxLength: 12 })),
      fc.boolean(),
      (key, both) => {
        const expected = names.filter(name => name === fold(key, both))
        const body = Buffer.from(JSON.stringify({ [both ? `_${key}` : key]: 1 }))
        const { findings } = scanJson(body, table, { foldUnderscores: both })
        assert.deepEqual(scanIn([3], body, table, { foldUnderscores: both }).findings, findings)
        assert.deepEqual(
          findings.map(finding => finding.name),
          expected,
        )
      },
    ),
    { numRuns: 2000 },
  )
  t.end()
})

await t.test('names of Object.prototype are ordinary keys', async t => {
  const body = Buffer.from('{"__proto__":{"model":1},"constructor":2,"hasOwnProperty":3}')
  t.same(
    scanJson(body, everything).findings.map(finding => finding.path),
    ['', '__proto__', '__proto__.model', 'constructor'],
  )
  t.equal(scanJson(body, model).findings.length, 0)
})

await t.test('keys that are no identifiers are quoted in paths', async t => {
  const strange = Buffer.from('{"x y":{"":[{"ключ":1}]}}')
  t.equal(scanJson(strange, everything).findings.at(-1)?.path, '["x y"][""][0]["ключ"]')
})

await t.test('a key of interest twice in one object is refused, others may repeat', async t => {
  const interest: Interest = {
    members: new Map<string, Interest>([
      ['model', { name: 'model' }],
      ['inlinedata', { name: 'data' }],
      ['list', { items: { members: new Map([['model', { name: 'inner' }]]) } }],
    ]),
  }
  for (const body of [
    '{"model":1,"model":2}',
    '{"model":1,"mod\\u0065l":2}',
    '{"MODEL":1,"b":2,"model":2}',
    '{"model":1,"model":',
  ]) {
    const error = refusal(body, interest)
    t.match(error, { reason: 'duplicate', path: /^model$/i, message: /twice/ })
  }
  const google = { foldUnderscores: true }
  t.equal(refusal('{"inline_data":1,"inlineData":2}', interest, google).reason, 'duplicate')
  t.equal(scanJson(Buffer.from('{"inline_data":1,"inlineDate":2}'), interest, google).findings.length, 1)
  t.equal(refusal('{"list":[{"model":1},{"model":1,"model":2}]}', interest).path, 'list[1].model')
  const far = Buffer.from(
    '{"a":1,"a":2,"b":{"model":1,"model":2},"list":[{"model":1},{"model":1}],"model":{"model":1}}',
  )
  t.equal(scanJson(far, interest).findings.length, 3)
  const both = scanJson(Buffer.from('{"model":1,"model":2}'), interest, { rejectDuplicates: false })
  t.equal(both.findings.length, 2)
})
