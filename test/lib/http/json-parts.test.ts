import fc from 'fast-check'
import t from 'tap'
import { JsonScanner, type Finding, type Interest } from '../../../lib/http/json-scan.ts'

const part: Interest = {
  name: 'part',
  keep: 'span',
  members: new Map([['id', { name: 'id', keep: 'value' }]]),
}
const interest: Interest = {
  members: new Map<string, Interest>([
    ['before', { name: 'before', keep: 'value' }],
    ['parts', { items: part }],
    ['after', { name: 'after', keep: 'value' }],
  ]),
}

function ids(findings: readonly Finding[]): unknown[] {
  return findings.filter(({ name }) => name === 'id').map(({ raw }) => JSON.parse(String(raw)))
}

await t.test('each complete part is taken once, and the other findings stay', async t => {
  const property = fc.property(
    fc.array(fc.record({ id: fc.integer(), more: fc.json() }), { maxLength: 12 }),
    fc.integer({ min: 1, max: 60 }),
    (parts, size) => {
      const bytes = Buffer.from(JSON.stringify({ before: 1, parts, after: 2 }))
      // One part has two findings, so the limit holds only a few parts.
      const scanner = new JsonScanner(interest, { findingsMax: 2 * Math.ceil(size / 10) + 5 })
      const taken: Finding[] = []
      for (let start = 0; start < bytes.length; start += size) {
        scanner.push(bytes.subarray(start, start + size))
        taken.push(...scanner.takeWhole('part'))
      }
      const rest = scanner.end().findings
      return (
        JSON.stringify(ids(taken)) === JSON.stringify(parts.map(({ id }) => id)) &&
        taken.filter(({ name }) => name === 'part').every(({ end }) => end !== -1) &&
        rest.map(({ name }) => name).join() === 'before,after'
      )
    },
  )
  t.doesNotThrow(() => fc.assert(property))
})

await t.test('each ended value is taken once and in order, however many there are', async t => {
  const values: Interest = { members: new Map([['usage', { name: 'usage', keep: 'value' }]]) }
  const property = fc.property(
    fc.array(fc.json(), { maxLength: 200 }),
    fc.integer({ min: 1, max: 60 }),
    (texts, size) => {
      const bytes = Buffer.from(`{${texts.map(text => `"usage":${text}`).join()}}`)
      // As many values as can end in one piece, and one that has not ended.
      const scanner = new JsonScanner(values, { rejectDuplicates: false, findingsMax: size + 1 })
      const taken: Finding[] = []
      for (let start = 0; start < bytes.length; start += size) {
        scanner.push(bytes.subarray(start, start + size))
        taken.push(...scanner.takeEnded())
      }
      t.same(scanner.end().findings, [])
      return taken.map(({ raw }) => String(raw)).join('\n') === texts.join('\n')
    },
  )
  t.doesNotThrow(() => fc.assert(property))
})

await t.test('a value behind one that has not ended waits for it', async t => {
  const scanner = new JsonScanner(interest)
  scanner.push(Buffer.from('{"before":1,"parts":[{"id":1},{"id":2'))
  t.same(
    scanner.takeEnded().map(({ name }) => name),
    ['before', 'part', 'id'],
  )
  scanner.push(Buffer.from(',"more":1}]}'))
  t.same(
    scanner.takeEnded().map(({ name }) => name),
    ['part', 'id'],
  )
  t.same(scanner.end().findings, [])
})
