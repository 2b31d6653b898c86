import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { scanJson } from '../../../lib/http/json-scan.ts'
import { jsonStringBytes, spliceBytes } from '../../../lib/bodies/outgoing-body.ts'

await t.test('splices replace their ranges and touch nothing else', async t => {
  const edit = fc.tuple(fc.nat(9), fc.nat(9), fc.uint8Array({ maxLength: 5 }))
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(edit, { maxLength: 6 }), (array, edits) => {
      const body = Buffer.from(array)
      const before = Buffer.from(body)
      const splices = []
      const expected: number[] = []
      let position = 0
      for (const [gap, length, bytes] of edits) {
        const start = Math.min(position + gap, body.length)
        const end = Math.min(start + length, body.length)
        splices.push({ start, end, bytes: Buffer.from(bytes) })
        expected.push(...body.subarray(position, start), ...bytes)
        position = end
      }
      expected.push(...body.subarray(position))
      assert.deepEqual([...spliceBytes(body, splices)], expected)
      assert(body.equals(before))
    }),
  )
  const body = Buffer.from('abc')
  t.equal(spliceBytes(body, []), body)
})

await t.test('splices that overlap, go backwards or reach beyond the end throw', async t => {
  const body = Buffer.from('abcdef')
  const bytes = Buffer.from('x')
  for (const ranges of [
    [
      [0, 3],
      [2, 4],
    ],
    [
      [4, 5],
      [0, 1],
    ],
    [[5, 7]],
    [[3, 2]],
    [[-1, 2]],
  ] as [number, number][][]) {
    const splices = ranges.map(([start, end]) => ({ start, end, bytes }))
    t.throws(() => spliceBytes(body, splices), /out of order/, JSON.stringify(ranges))
  }
})

await t.test('a spliced model reads back as its new name, and all other bytes stay', async t => {
  const interest = { members: new Map([['model', { name: 'model', keep: 'value' as const }]]) }
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), fc.json(), (model, old, rest) => {
      const body = Buffer.from(`{ "x":${rest},\r\n"model" : ${JSON.stringify(old)} , "y":1e400}`)
      const span = scanJson(body, interest).findings[0]
      assert(span !== undefined)
      const spliced = spliceBytes(body, [{ start: span.start, end: span.end, bytes: jsonStringBytes(model) }])
      const found = scanJson(spliced, interest).findings[0]
      assert.equal(JSON.parse(found?.raw?.toString() ?? ''), model)
      assert(spliced.subarray(0, span.start).equals(body.subarray(0, span.start)))
      assert(spliced.subarray(found?.end).equals(body.subarray(span.end)))
    }),
  )
  t.equal(jsonStringBytes('a"\ud800').toString(), '"a\\"\\ud800"')
})
