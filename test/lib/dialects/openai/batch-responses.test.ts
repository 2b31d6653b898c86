import t from 'tap'
import { readBatchResponses } from '../../../../lib/dialects/openai/files.ts'
import type { NamedObject, ObjectFacts } from '../../../../lib/money/usage.ts'

const facts = { isStreaming: false, candidates: 1, textBytes: 0, media: [], objects: [] }

function readerOf(status: number, known: ObjectFacts | undefined): ReturnType<typeof readBatchResponses> {
  const object = { kind: 'file' as const, id: 'file-1', ...(known !== undefined && { facts: known }) }
  return readBatchResponses({ status, contentType: '' }, { providerKind: 'openai', facts, object })
}

function line(id: string, more: object = {}): string {
  const body = { id, object: 'response', output: [{ id: `rs_${id}`, type: 'reasoning' }], ...more }
  return `${JSON.stringify({ custom_id: 'x', response: { status_code: 200, body }, error: null })}\n`
}

function namesIn(text: string, pieceBytes = text.length): readonly NamedObject[] {
  const reader = readerOf(200, { resultsOf: 'batch_1' })
  const named: NamedObject[] = []
  for (let start = 0; start < text.length; start += pieceBytes) {
    reader?.push(Buffer.from(text.slice(start, start + pieceBytes)))
    named.push(...(reader?.takeObjects() ?? []))
  }
  t.match(reader?.end(), { lines: [], flags: [] })
  return named.concat(reader?.takeObjects() ?? [])
}

await t.test('responses with their context, and their items, are named, however the file is cut', async t => {
  const usage = { input_tokens: 20, output_tokens: 10, total_tokens: 30 }
  const text = line('a', { usage }) + line('b').trimEnd()
  for (const pieceBytes of [1, 7, text.length]) {
    const named = namesIn(text, pieceBytes)
    t.same(named, [
      { kind: 'response', id: 'a', facts: { context: { input: 30 } } },
      { kind: 'item', id: 'rs_a' },
      { kind: 'response', id: 'b', facts: { context: {} } },
      { kind: 'item', id: 'rs_b' },
    ])
  }
})

await t.test('a line that is unstored, no response or incomplete names nothing', async t => {
  t.same(namesIn(line('a', { store: false })), [])
  t.same(namesIn(line('a', { object: 'chat.completion' })), [])
  t.same(namesIn(line('a', { id: 7 })), [])
  t.same(namesIn(`${line('a').trimEnd()}}\n`), [])
  t.same(namesIn(line('a').slice(0, -3)), [])
})

await t.test('only complete output files of a batch are read', async t => {
  t.ok(readerOf(200, { resultsOf: 'batch_1' }))
  t.equal(readerOf(206, { resultsOf: 'batch_1' }), undefined)
  t.equal(readerOf(200, { bytes: 5 }), undefined)
  t.equal(readerOf(200, undefined), undefined)
})

await t.test('a file names at most 250,000 objects', async t => {
  const items = Array.from({ length: 999 }, (_, index) => ({ id: `rs_${index}` }))
  const text = line('a', { output: items }).repeat(251)
  t.equal(namesIn(text, 65_536).length, 250_000)
})
