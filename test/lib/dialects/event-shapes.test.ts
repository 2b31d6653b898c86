import fc from 'fast-check'
import t from 'tap'
import { messages } from '../../../lib/dialects/anthropic/messages.ts'
import type { Operation } from '../../../lib/dialects/dialect.ts'
import { readEvent } from '../../../lib/http/event-splitter.ts'
import { EventShapes } from '../../../lib/dialects/event-shapes.ts'
import { genericOperation } from '../../../lib/dialects/generic.ts'
import { streamGenerateContent } from '../../../lib/dialects/google/generate-content.ts'
import { interactions } from '../../../lib/dialects/google/interactions.ts'
import { list, object, span, value } from '../../../lib/dialects/interest.ts'
import { chat } from '../../../lib/dialects/openai/chat.ts'
import { responses } from '../../../lib/dialects/openai/responses.ts'
import type { UsageReading } from '../../../lib/money/usage.ts'
import { noFacts } from './read-response.ts'

const operations: readonly Operation[] = [
  chat,
  responses,
  messages,
  streamGenerateContent,
  interactions,
  genericOperation,
]

const text = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    ' fox',
    '"',
    '\\',
    '\\"',
    '\n',
    '\u2028',
    'Привет',
    '😀',
    '\ud800',
    '}\n\ndata: {',
  ),
  fc.string({ unit: 'grapheme', maxLength: 90 }),
)
const count = fc.integer({ min: 0, max: 9999 })
const tokens = fc.oneof(
  fc.constant(null),
  fc.record({ prompt_tokens: count, completion_tokens: count }),
  fc.record({ input_tokens: count, output_tokens: count }),
  fc.record({ promptTokenCount: count, candidatesTokenCount: count }),
)
const word = fc.constantFrom('a', 'b-1', 'c_22')

/** Events of every format, often with the shape of earlier ones and sometimes with other members. */
const event = fc.oneof(
  fc.record({ content: text, id: word, usage: tokens, pad: text }).map(({ content, id, usage, pad }) => ({
    name: '',
    json: {
      id,
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ index: 0, delta: { content } }],
      usage,
      pad,
    },
  })),
  fc.record({ part: text, id: word, model: word }).map(({ part, id, model }) => ({
    name: '',
    json: {
      model,
      id,
      choices: [{ delta: { tool_calls: [{ index: 0, id, function: { name: id, arguments: part } }] } }],
    },
  })),
  fc.record({ delta: text, id: word, at: count }).map(({ delta, id, at }) => ({
    name: 'response.output_text.delta',
    json: { type: 'response.output_text.delta', delta, item: { id }, sequence_number: at, ratio: -1.5e-7 },
  })),
  fc.record({ thinking: text, at: count }).map(({ thinking, at }) => ({
    name: 'content_block_delta',
    json: { type: 'content_block_delta', index: at, delta: { type: 'thinking_delta', thinking } },
  })),
  fc.record({ words: text, usage: tokens }).map(({ words, usage }) => ({
    name: '',
    json: {
      candidates: [{ content: { parts: [{ text: words }] } }],
      usageMetadata: usage,
      modelVersion: 'g',
    },
  })),
  fc.record({ words: text, last: fc.boolean() }).map(({ words, last }) => ({
    name: last ? 'interaction.completed' : 'step.delta',
    json: { event_type: last ? 'interaction.completed' : 'step.delta', delta: { text: words } },
  })),
  fc.record({ message: text }).map(error => ({ name: 'error', json: { type: 'error', error } })),
  fc
    .constantFrom('web_search_call.in_progress', 'message_stop')
    .map(type => ({ name: '', json: { type, delta: 'x', content_block: { type: 'server_tool_use' } } })),
)

const framing = fc.record({
  lineEnd: fc.constantFrom('\n', '\r\n'),
  blanks: fc.constantFrom('', '  ', '      '),
  comment: fc.constantFrom('', ': ping\n', 'id: 7\n'),
})

/** Runs of similar events, as in real streams. */
const stream = fc
  .array(fc.tuple(event, framing, fc.array(text, { maxLength: 6 }), fc.integer({ min: 1, max: 5 })), {
    minLength: 1,
    maxLength: 8,
  })
  .map(runs =>
    runs.flatMap(([{ name, json }, { lineEnd, blanks, comment }, texts, times]) =>
      [...Array.from({ length: times }, () => ''), ...texts].map(more => {
        const line = name === '' ? '' : `event: ${name}${lineEnd}`
        const document = JSON.stringify(json, (_, member: unknown) =>
          typeof member === 'string' && member.length > 20 ? member + more : member,
        )
        return Buffer.from(`${comment}${line}data: ${document}${blanks}${lineEnd}${lineEnd}`)
      }),
    ),
  )

function readingOf(operation: Operation, chunks: readonly Buffer[]): UsageReading | undefined {
  const reader = operation.readUsage?.(
    { status: 200, contentType: 'text/event-stream' },
    { providerKind: 'openai', facts: noFacts },
  )
  for (const chunk of chunks) reader?.push(chunk)
  return reader?.end()
}

/** Cuts events into pieces of 7 bytes: none is whole in one chunk, so the reader splits and parses each. */
function inPieces(bytes: Buffer): readonly Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 7) pieces.push(bytes.subarray(at, at + 7))
  return pieces
}

await t.test('events of a known shape give the same reading as parsed ones', async t => {
  fc.assert(
    fc.property(stream, fc.integer({ min: 1, max: 5 }), (events, joined) => {
      const chunks: Buffer[] = []
      for (let at = 0; at < events.length; at += joined)
        chunks.push(Buffer.concat(events.slice(at, at + joined)))
      const whole = Buffer.concat(events)
      for (const operation of operations) {
        const parsed = readingOf(operation, inPieces(whole))
        t.same(readingOf(operation, chunks), parsed)
        t.same(readingOf(operation, [whole]), parsed)
      }
    }),
    { numRuns: 150 },
  )
})

const interest = object({
  model: value('model'),
  usage: value('usage'),
  choices: list(object({ delta: span('text') })),
})

function frame(delta: string, model = 'm', more = ''): Buffer {
  return Buffer.from(
    `data: {"id":"x","model":"${model}","choices":[{"delta":${JSON.stringify(delta)}}]${more}}\n\n`,
  )
}

/** Reads events by the shapes of learned ones: the reports of the reader, and how many bytes it read. */
function readByShape(learned: readonly Buffer[], bytes: Buffer): { reported: string[]; readBytes: number } {
  const shapes = new EventShapes(interest)
  for (const event of learned) {
    const fields = readEvent(event)
    if (fields !== undefined) shapes.learn(event, fields)
  }
  const reported: string[] = []
  const readBytes = shapes.read(bytes, {
    onFound: (name, found) => reported.push(`${name}=${JSON.stringify(found)}`),
    onText: (from, start, end) => reported.push(`text ${from.toString('utf8', start, end)}`),
    onEventEnd: () => reported.push('end'),
  })
  return { reported, readBytes }
}

const learned = [frame('a'), frame('b'), frame('c')]

await t.test('an event that differs from a known shape only in its text is read without parsing', async t => {
  const bytes = Buffer.concat([frame('one'), frame('two "quoted"')])

  const { reported, readBytes } = readByShape(learned, bytes)

  t.same(reported, ['model="m"', 'text one', 'end', 'model="m"', 'text="two \\"quoted\\""', 'end'])
  t.equal(readBytes, bytes.length)
})

const others: readonly (readonly [difference: string, event: Buffer])[] = [
  ['another model', frame('x', 'other')],
  ['an extra member', frame('x', 'm', ',"usage":{"input":1}')],
  ['a missing member', Buffer.from('data: {"id":"x","choices":[{"delta":"x"}]}\n\n')],
  ['text that is no string', Buffer.from('data: {"id":"x","model":"m","choices":[{"delta":null}]}\n\n')],
  ['text that does not end', frame('x').subarray(0, -6)],
  ['an invalid escape', Buffer.from(frame('xx').toString().replace('xx', '\\x'))],
  ['a line end in its text', Buffer.from(frame('xx').toString().replace('xx', 'x\n'))],
  [
    'a line end far into its text',
    Buffer.from(
      frame('xx')
        .toString()
        .replace('xx', `${'y'.repeat(200)}\n`),
    ),
  ],
  ['a control character', Buffer.from(frame('xx').toString().replace('xx', '\u0007'))],
  ['another line', Buffer.from(frame('x').toString().replace('\n\n', '\nid: 1\n\n'))],
  ['a line that goes on', frame('x').subarray(0, -1)],
]
for (const [difference, other] of others) {
  await t.test(`an event with ${difference} is not read by a known shape`, async t => {
    const { reported, readBytes } = readByShape(learned, other)

    t.same(reported, [])
    t.equal(readBytes, 0)
  })
}

await t.test('an event with a repeated name forms no shape', async t => {
  const twice = [1, 2, 3, 4].map(index => frame(String(index), 'm', ',"model":"n"'))

  t.equal(readByShape(twice, frame('5', 'm', ',"model":"n"')).readBytes, 0)
})
