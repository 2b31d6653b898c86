import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { findAll, findBoolean, findNumber, findString, stringOf } from '../../../lib/http/json-read.ts'
import { scanJson } from '../../../lib/http/json-scan.ts'
import type { Interest, ScanResult } from '../../../lib/http/json-scan.ts'

const value: Interest = { name: 'value', keep: 'value' }
const interest: Interest = { ...value, items: value }

function scan(body: string): ScanResult {
  return scanJson(Buffer.from(body), interest)
}

await t.test('strings read as JSON.parse reads them', async t => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), text => {
      assert.equal(findString(scan(JSON.stringify(text)), 'value'), text)
    }),
  )
  t.equal(findString(scan('"a\\u0065\\/\\ud83d\\ude00\\n"'), 'value'), 'ae/😀\n')
  t.equal(findString(scan('"\\ud800"'), 'value'), '\ud800')
})

await t.test('a value of another type is not there', async t => {
  t.equal(findString(scan('1'), 'value'), undefined)
  t.equal(findNumber(scan('"1"'), 'value'), undefined)
  t.equal(findBoolean(scan('null'), 'value'), undefined)
  t.equal(findString(scan('"x"'), 'other'), undefined)
})

await t.test('numbers and booleans', async t => {
  t.equal(findNumber(scan('-1.5e3'), 'value'), -1500)
  t.equal(findNumber(scan('1e400'), 'value'), Infinity)
  t.equal(findBoolean(scan('true'), 'value'), true)
  t.equal(findBoolean(scan('false'), 'value'), false)
})

await t.test('all findings of a name come in order', async t => {
  const found = findAll(scan('["a","b"]'), 'value')
  t.same(
    found.map(finding => finding.path),
    ['', '[0]', '[1]'],
  )
  t.same(found.map(stringOf), [undefined, 'a', 'b'])
})
