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

await t.test('parts are handed over when they are whole, each once, and the rest stays', async t => {
  const property = fc.property(
    fc.array(fc.record({ id: fc.integer(), more: fc.json() }), { maxLength: 12 }),
    fc.integer({ min: 1, max: 60 }),
    (parts, size) => {
      const bytes = Buffer.from(JSON.stringify({ before: 1, parts, after: 2 }))
      // One part has two findings, so that many could not be kept.
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
