import fc from 'fast-check'
import t from 'tap'
import { eventOf, SseParser } from '../../../lib/http/sse.ts'
import { memoryInUse } from '../../faults/memory-in-use.ts'

type Event = readonly [event: string, data: string]

function parse(stream: string | Buffer, sizes: readonly number[] = []): readonly Event[] {
  const events: Event[] = []
  const parser = new SseParser((event, data) => events.push([event, data.toString()]))
  const bytes = Buffer.from(stream)
  if (sizes.length === 0) parser.push(bytes)
  else {
    let position = 0
    for (let index = 0; position < bytes.length; index += 1) {
      const size = sizes[index % sizes.length] ?? 1
      parser.push(bytes.subarray(position, position + size))
      position += size
    }
  }
  parser.end()
  return events
}

await t.test('events have the name and the data that the stream gives them', async t => {
  t.same(parse('data: 1\n\nevent: ping\ndata: {"a":"b"}\n\n'), [
    ['', '1'],
    ['ping', '{"a":"b"}'],
  ])
  t.same(parse('data:no space\n\ndata:  two spaces\n\ndata\n\n'), [
    ['', 'no space'],
    ['', ' two spaces'],
    ['', ''],
  ])
  t.same(parse('data: a\ndata: b\ndata:\n\n'), [['', 'a\nb\n']])
})

await t.test('comments, ids, retries and unknown fields are passed over', async t => {
  t.same(parse(': keep-alive\n\nid: 7\nretry: 10\ndatas: x\nevents: x\ndata: 1\n: in between\n\n'), [
    ['', '1'],
  ])
  t.same(parse('event: empty\n\ndata: 1\n\n'), [['', '1']])
})

await t.test('a last event without its blank line is read at the end', async t => {
  t.same(parse('data: 1\n\ndata: 2\n'), [
    ['', '1'],
    ['', '2'],
  ])
  t.same(parse('data: 1\n\ndata: 2'), [
    ['', '1'],
    ['', '2'],
  ])
})

await t.test('a byte order mark before the first line is no part of it', async t => {
  for (const sizes of [[], [1], [2]]) t.same(parse('\ufeffdata: 1\n\n', sizes), [['', '1']])
})

await t.test('line ends and chunk boundaries make no difference', async () => {
  const data = fc.stringMatching(/^[a-zé"{}:, ]{0,30}$/)
  const event = fc.record({ name: fc.constantFrom('', 'ping', 'message_delta'), data })
  const comment = fc.boolean()
  fc.assert(
    fc.property(
      fc.array(fc.tuple(event, comment), { maxLength: 8 }),
      fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 1, maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 10 }),
      (events, ends, sizes) => {
        let lines = 0
        const end = (): string => ends[lines++ % ends.length] ?? '\n'
        let stream = ''
        for (const [{ name, data }, hasComment] of events) {
          if (hasComment) stream += `: note${end()}`
          if (name !== '') stream += `event: ${name}${end()}`
          stream += `data: ${data}${end()}`
          // A CR alone followed by an LF would read as one line end, so blank lines keep to one kind.
          stream += stream.endsWith('\r') ? '\r' : stream.endsWith('\r\n') ? '\r\n' : '\n'
        }
        const expected = events.map(([{ name, data }]): Event => [name, data])
        return JSON.stringify(parse(stream, sizes)) === JSON.stringify(expected)
      },
    ),
    { numRuns: 500 },
  )
})

await t.test('an event within one chunk is not copied', async t => {
  const chunk = Buffer.from('data: abc\n\n')
  let seen: Buffer | undefined
  new SseParser((_event, data) => (seen = data)).push(chunk)
  t.equal(seen?.buffer, chunk.buffer)
  t.equal(seen?.byteOffset, chunk.byteOffset + 6)
})

await t.test('another event may be appended only where none is under way', async t => {
  const parser = new SseParser(() => {})
  const steps: readonly (readonly [string, boolean])[] = [
    ['', true],
    ['da', false],
    ['ta: 1', false],
    ['\n', false],
    ['\n', true],
    [': comment\n', true],
    ['event: x\r', false],
    ['\n\r', true],
    ['\ndata: 1\r\n\r\n', true],
  ]
  for (const [text, isAtBoundary] of steps) {
    parser.push(Buffer.from(text))
    t.equal(parser.isAtBoundary, isAtBoundary, JSON.stringify(text))
  }
})

await t.test('events that are too long are skipped and counted, and the next one is read', async t => {
  for (const size of [1, 7, 1000]) {
    const events: string[] = []
    const parser = new SseParser((_event, data) => events.push(data.toString()), { eventBytesMax: 10 })
    const long = 'x'.repeat(50)
    const stream = Buffer.from(
      `data: ${long}\ndata: ${long}\n\ndata: 1\n\ndata: 12345678\ndata: 123\n\ndata: 2\n\n`,
    )
    for (let position = 0; position < stream.length; position += size) {
      parser.push(stream.subarray(position, position + size))
    }
    parser.end()
    t.same(events, ['1', '2'])
    t.equal(parser.oversizedCount, 2)
    t.equal(parser.isAtBoundary, true)
  }
})

await t.test('what an event takes up does not depend on how finely it is cut', async t => {
  // Each piece is a Buffer of its own, which takes up a hundred times the byte in it.
  const held = heldBy(parser => {
    parser.push(Buffer.from('data: '))
    for (let index = 0; index < 300_000; index += 1) parser.push(Buffer.from('a'))
  })
  t.ok(held < 10_000_000, `a line of 300,000 bytes, one by one: ${held} bytes are held`)
  const lines = Buffer.from('data:\n'.repeat(1000))
  const heldByLines = heldBy(parser => {
    for (let index = 0; index < 300; index += 1) parser.push(lines)
  })
  t.ok(heldByLines < 10_000_000, `300,000 lines without a byte of data: ${heldByLines} bytes are held`)
})

await t.test('an event that never ends is given up, whatever its lines are', async t => {
  for (const line of ['data:\n', ': nothing\n', 'id: 1\ndata:1\n']) {
    const data: string[] = []
    const parser = new SseParser((_event, text) => data.push(text.toString()), { eventBytesMax: 1000 })
    for (let index = 0; index < 1000; index += 1) parser.push(Buffer.from(line))
    t.equal(parser.oversizedCount, 1, JSON.stringify(line))
    parser.push(Buffer.from('\ndata: next\n\n'))
    t.same(data, ['next'])
  }
})

/** What a parser holds after it was fed. */
function heldBy(feed: (parser: SseParser) => void): number {
  const parser = new SseParser(() => undefined)
  const before = memoryInUse()
  feed(parser)
  const held = memoryInUse() - before
  parser.end()
  return held
}

await t.test('JSON becomes one event that says the same, however it is spaced', async t => {
  const spacing = fc.constantFrom('', '\n', '\r\n', '\r', '\n\n  ', '\t')
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(spacing, { minLength: 1 }), (value, spaces) => {
      let count = 0
      const spaced = JSON.stringify(value, null, '\n').replaceAll(/\n/g, () => {
        count += 1
        return spaces[count % spaces.length] ?? ''
      })
      const [event, ...others] = parse(eventOf(Buffer.from(`${spaces[0]}${spaced}${spaces.at(-1)}`)))

      t.same(others, [])
      t.same(JSON.parse(event?.[1] ?? ''), value)
    }),
  )
})
