import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { scanJson, stringOf } from '../../../lib/http/json-scan.ts'

function read(body: string): string | undefined {
  const { findings } = scanJson(Buffer.from(body), { name: 'value', keep: 'value' })
  return stringOf(findings[0])
}

await t.test('strings read as JSON.parse reads them', async t => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), text => {
      assert.equal(read(JSON.stringify(text)), text)
    }),
  )
  t.equal(read('"a\\u0065\\/\\ud83d\\ude00\\n"'), 'ae/😀\n')
  t.equal(read('"\\ud800"'), '\ud800')
})

await t.test('a value of another type, or none, is no string', async t => {
  for (const body of ['1', 'true', 'null', '["a"]', '{}']) t.equal(read(body), undefined, body)
  t.equal(stringOf(undefined), undefined)
})
