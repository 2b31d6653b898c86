import fc from 'fast-check'
import t from 'tap'
import { EventSplitter, eventOf, readEvent } from '../../../lib/http/event-splitter.ts'
import { memoryInUse } from '../../faults/memory-in-use.ts'

type Event = readonly [event: string, data: string]

/** Splits a stream into events, and keeps their names and data. */
class Events {
  readonly events: Event[] = []
  readonly long: string[] = []
  readonly splitter: EventSplitter

  constructor(eventBytesMax = 32 * 1_048_576) {
    this.splitter = new EventSplitter(this, eventBytesMax)
  }

  onEvent(event: Buffer): void {
    const fields = readEvent(event)
    if (fields !== undefined) this.events.push([fields.name, fields.data.toString()])
  }

  onLongEvent(piece: Buffer): void {
    this.long.push(piece.toString())
  }

  push(text: string | Buffer): void {
    this.splitter.push(Buffer.from(text))
  }
}

function inPieces(bytes: Buffer, sizes: readonly number[]): readonly Buffer[] {
  const pieces: Buffer[] = []
  for (let position = 0; position < bytes.length;) {
    const size = sizes[pieces.length % sizes.length] ?? 1
    pieces.push(bytes.subarray(position, position + size))
    position += size
  }
  return pieces
}

function parse(stream: string | Buffer, sizes: readonly number[] = []): readonly Event[] {
  const events = new Events()
  const bytes = Buffer.from(stream)
  for (const piece of sizes.length === 0 ? [bytes] : inPieces(bytes, sizes)) events.push(piece)
  events.splitter.end()
  return events.events
}

await t.test('events have the name and the data of the stream', async t => {
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

await t.test('comments, ids, retries and unknown fields are skipped', async t => {
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
          // A CR followed by an LF reads as one line end, so a blank line ends like the line before it.
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
  const chunk = Buffer.from(': comment\ndata: abc\n\nrest')
  let data: Buffer | undefined
  const onEvent = (event: Buffer): void => void (data = readEvent(event)?.data)
  new EventSplitter({ onEvent, onLongEvent: () => undefined }, 100).push(chunk)
  t.equal(data?.buffer, chunk.buffer)
  t.equal(data?.byteOffset, chunk.byteOffset + 16)
})

await t.test('another event can be inserted only between events', async t => {
  const steps: readonly (readonly [string, boolean])[] = [
    ['', true],
    ['da', false],
    ['ta: 1', false],
    ['\n', false],
    ['\n', true],
    [': comment\n', false],
    ['event: x\r', false],
    ['\n\r', false],
    ['\ndata: 1\r\n\r\n', true],
    ['data: 2\r\r', false],
    ['data: 3\n\n\n', true],
  ]
  const split = new EventSplitter({ onEvent: () => undefined, onLongEvent: () => undefined }, 100)
  const followed = new EventSplitter()
  for (const [text, isBetweenEvents] of steps) {
    split.push(Buffer.from(text))
    followed.follow(Buffer.from(text))
    t.equal(split.isBetweenEvents, isBetweenEvents, JSON.stringify(text))
    t.equal(followed.isBetweenEvents, isBetweenEvents, `${JSON.stringify(text)}, followed`)
  }
})

await t.test('following a stream finds the same ends of events as splitting it', async () => {
  const piece = fc.array(fc.constantFrom('\n', '\r', '\r\n', 'a', ':'), { maxLength: 6 })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), pieces => {
      const split = new EventSplitter()
      const followed = new EventSplitter()
      return pieces.every(texts => {
        split.push(Buffer.from(texts.join('')))
        followed.follow(Buffer.from(texts.join('')))
        return split.isBetweenEvents === followed.isBetweenEvents
      })
    }),
    { numRuns: 2000 },
  )
})

await t.test('events over the limit are passed on in pieces, and the next one is read', async t => {
  const long = `data: ${'x'.repeat(50)}\n`
  const stream = Buffer.from(`${long}${long}\ndata: 1\n\ndata: 12345678\ndata: 123\n\ndata: 2\n\n`)
  for (const size of [1, 7, 1000]) {
    const events = new Events(10)
    for (const piece of inPieces(stream, [size])) events.push(piece)
    events.splitter.end()
    t.same(
      events.events,
      [
        ['', '1'],
        ['', '2'],
      ],
      `${size} bytes at a time`,
    )
    t.equal(events.long.join(''), `${long}${long}\ndata: 12345678\ndata: 123\n\n`)
    t.equal(events.splitter.isBetweenEvents, true)
  }
})

await t.test('the memory of an event does not depend on how it is cut', async t => {
  // Each piece is a Buffer of its own, which takes a hundred times the memory of its one byte.
  const held = heldBy(events => {
    events.push('data: ')
    for (let index = 0; index < 300_000; index += 1) events.push('a')
  })
  t.ok(held < 10_000_000, `a line of 300,000 bytes, one by one: ${held} bytes are held`)
  const lines = Buffer.from('data:\n'.repeat(1000))
  const heldByLines = heldBy(events => {
    for (let index = 0; index < 300; index += 1) events.push(lines)
  })
  t.ok(heldByLines < 10_000_000, `300,000 lines without a byte of data: ${heldByLines} bytes are held`)
})

await t.test('an event that never ends is not kept in memory, with any kind of lines', async t => {
  for (const line of ['data:\n', ': nothing\n', 'id: 1\ndata:1\n']) {
    const events = new Events(1000)
    for (let index = 0; index < 1000; index += 1) events.push(line)
    t.same(events.events, [], JSON.stringify(line))
    t.equal(events.long.join(''), line.repeat(1000))
    events.push('\ndata: next\n\n')
    t.same(events.events, [['', 'next']])
  }
})

/** The bytes of memory that are held after feeding a stream. */
function heldBy(feed: (events: Events) => void): number {
  const events = new Events()
  const before = memoryInUse()
  feed(events)
  const held = memoryInUse() - before
  events.splitter.end()
  return held
}

await t.test('JSON with any spacing becomes one event with the same value', async t => {
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
