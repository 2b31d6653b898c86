import fc from 'fast-check'
import t from 'tap'
import { JsonLines, type JsonLine } from '../../../lib/http/json-lines.ts'

const interest = { members: new Map([['id', { name: 'id', keep: 'value' as const }]]) }

function read(pieces: readonly Buffer[]): JsonLine[] {
  const lines: JsonLine[] = []
  const reader = new JsonLines(interest, { findingsMax: 10, valueBytesMax: 1000 }, line => lines.push(line))
  for (const piece of pieces) reader.push(piece)
  reader.end()
  return lines
}

function ids(lines: readonly JsonLine[]): unknown[] {
  return lines.map(({ findings }) => JSON.parse(String(findings[0]?.raw)))
}

await t.test('lines are read the same however their bytes are cut', async t => {
  const property = fc.property(
    fc.array(fc.record({ id: fc.string(), more: fc.json() }), { maxLength: 8 }),
    fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 }),
    fc.constantFrom('\n', '\r\n', '\n\n', '\n \n'),
    fc.boolean(),
    (documents, sizes, ending, isEnded) => {
      const text = documents.map(document => JSON.stringify(document)).join(ending) + (isEnded ? ending : '')
      const bytes = Buffer.from(text)
      const pieces: Buffer[] = []
      for (let start = 0, index = 0; start < bytes.length; index += 1) {
        const end = start + (sizes[index % sizes.length] ?? 1)
        pieces.push(bytes.subarray(start, end))
        start = end
      }
      const lines = read(pieces)
      const isRight =
        lines.every(({ error }) => error === undefined) &&
        JSON.stringify(ids(lines)) === JSON.stringify(documents.map(({ id }) => id))
      return isRight
    },
  )
  t.doesNotThrow(() => fc.assert(property))
})

await t.test('a line that is no JSON is reported with its number, and the next is read', async t => {
  const lines = read([Buffer.from('{"id":1}\n\nnot json\n{"id":2}\n{"id":')])
  t.same(
    lines.map(({ number, error }) => [number, error?.reason]),
    [
      [1, undefined],
      [3, 'syntax'],
      [4, undefined],
      [5, 'cut_off'],
    ],
  )
})

await t.test('a line may have any length: only members of interest are kept in memory', async t => {
  const chunk = Buffer.alloc(1_048_576, 0x61)
  const pieces = [
    Buffer.from('{"text":"'),
    ...Array.from({ length: 64 }, () => chunk),
    Buffer.from('","id":7}\n'),
  ]
  const before = process.memoryUsage().arrayBuffers
  const lines = read(pieces)
  t.same(ids(lines), [7])
  t.equal(lines[0]?.bytes, 64 * 1_048_576 + 18)
  t.ok(process.memoryUsage().arrayBuffers - before < 8 * 1_048_576, 'no copy of the line was made')
})
