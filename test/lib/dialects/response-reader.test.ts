import fc from 'fast-check'
import t from 'tap'
import { messages } from '../../../lib/dialects/anthropic/messages.ts'
import type { Operation } from '../../../lib/dialects/dialect.ts'
import { genericOperation } from '../../../lib/dialects/generic.ts'
import { streamGenerateContent } from '../../../lib/dialects/google/generate-content.ts'
import { chat } from '../../../lib/dialects/openai/chat.ts'
import { responses } from '../../../lib/dialects/openai/responses.ts'
import { eventStream, noFacts, readResponse } from './read-response.ts'

const usage = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }
const operations: readonly Operation[] = [chat, responses, messages, streamGenerateContent, genericOperation]

await t.test('readers accept any response without throwing', async () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    'data: ',
    '\n',
    '\r\n',
    '"usage"',
    'null',
    '1e400',
    '\\u',
    'error',
    '{"usage":',
    '"model":1',
    '[DONE]',
  )
  const noise = fc.uint8Array({ maxLength: 6 }).map(bytes => Buffer.from(bytes))
  const chunk = fc.oneof(
    piece.map(text => Buffer.from(text)),
    noise,
  )
  fc.assert(
    fc.property(
      fc.array(chunk, { maxLength: 40 }),
      fc.constantFrom('application/json', 'text/event-stream', ''),
      (chunks, contentType) => {
        for (const operation of operations) {
          const reader = operation.readUsage?.(
            { status: 200, contentType },
            { providerKind: 'xai', facts: noFacts },
          )
          for (const bytes of chunks) {
            reader?.push(bytes)
            reader?.takeObjects()
          }
          reader?.end()
        }
      },
    ),
    { numRuns: 400 },
  )
})

await t.test('a document that breaks off keeps the members found before', async t => {
  const whole = JSON.stringify({ model: 'm', usage, choices: [{ message: { content: 'abc' } }] })
  const cut = readResponse(chat, whole.slice(0, -3))
  t.match(cut, { isTerminal: false, model: 'm', lines: [{ meters: { input: 10, output: 4 } }] })
  t.equal(readResponse(chat, '').isTerminal, false)
})

await t.test('invalid JSON is flagged, and the reader goes on', async t => {
  const broken = readResponse(chat, '{"model":"m", nonsense')
  t.match(broken, { isTerminal: false, model: 'm', flags: ['answer_unreadable'] })
  const events = readResponse(
    chat,
    'data: {broken\n\ndata: {"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n',
    {
      contentType: 'text/event-stream',
    },
  )
  t.match(events, { flags: ['answer_unreadable'], lines: [{ meters: { input: 1, output: 1 } }] })
})

await t.test('a usage that is empty or no object is ignored', async t => {
  for (const odd of [null, 'x', 7, true, [], {}]) t.same(readResponse(chat, { usage: odd }).lines, [])
})

await t.test('of a repeated key the last value counts', async t => {
  const reading = readResponse(
    chat,
    `{"usage":{"prompt_tokens":1,"completion_tokens":1},"usage":${JSON.stringify(usage)}}`,
  )
  t.same(reading.lines, [{ meters: { input: 10, output: 4 } }])
  t.same(reading.flags, ['usage_inconsistent'])
  const repeated = JSON.stringify(usage)
  t.same(
    readResponse(chat, `{"usage":${repeated},"usage":${repeated}}`).flags,
    [],
    'the same value twice loses nothing',
  )
  const event = `data: {"usage":{"prompt_tokens":1,"completion_tokens":1},"usage":${repeated}}\n\ndata: [DONE]\n\n`
  const streamed = readResponse(chat, event, { contentType: 'text/event-stream' })
  t.match(streamed, { lines: [{ meters: { input: 10, output: 4 } }], flags: ['usage_inconsistent'] })
})

await t.test('a usage that decreases is flagged, and the last one counts', async t => {
  const event = (completion: number): string =>
    `data: {"usage":{"prompt_tokens":10,"completion_tokens":${completion}}}\n\n`
  const read = (...completions: readonly number[]) =>
    readResponse(chat, `${completions.map(event).join('')}data: [DONE]\n\n`, {
      contentType: 'text/event-stream',
    })
  t.match(read(5, 9, 2), { lines: [{ meters: { input: 10, output: 2 } }], flags: ['usage_decreased'] })
  t.same(read(2, 5, 5, 9).flags, [])
})

await t.test('the raw usage has the bytes of the provider', async t => {
  const text = '{ "prompt_tokens" : 1,\n"completion_tokens":2, "x":1e400 }'
  t.equal(readResponse(chat, `{"usage":${text}}`).raw, text)
  t.equal(readResponse(chat, `data: {"usage":${text.replace('\n', '')}}\n\n`).raw, text.replace('\n', ''))
})

await t.test('the usage of an event that nests too deep for the scan is still read', async t => {
  const deep = `${'['.repeat(600)}${']'.repeat(600)}`
  const stream = `data: {"deep":${deep},"usage":${JSON.stringify(usage)}}\n\n`
  const reading = readResponse(chat, stream, { contentType: 'text/event-stream' })
  t.match(reading, { raw: JSON.stringify(usage), lines: [{ meters: { input: 10, output: 4 } }] })
  t.same(readResponse(chat, `{"deep":${deep}}`).flags, ['answer_unreadable'])
})

await t.test('a response that is neither events nor JSON counts as output', async t => {
  t.match(readResponse(chat, 'plain words', { contentType: 'text/plain' }), { hasOutput: true, lines: [] })
})

await t.test('the usage of an unknown operation is recognised by its shape', async t => {
  const linesOf = (answer: unknown, contentType = 'application/json'): unknown =>
    readResponse(genericOperation, answer, { contentType }).lines
  t.same(linesOf({ usage }), [{ meters: { input: 10, output: 4 } }])
  t.same(linesOf({ x_groq: { usage } }), [{ meters: { input: 10, output: 4 } }])
  t.same(linesOf({ usage: { input_tokens: 5, cache_read_input_tokens: 3, output_tokens: 1 } }), [
    { meters: { input: 5, cachedInput: 3, output: 1 } },
  ])
  t.same(linesOf({ usageMetadata: { promptTokenCount: 5, thoughtsTokenCount: 2 } }), [
    { meters: { input: 5, output: 2 } },
  ])
  t.same(linesOf({ usage: { total_input_tokens: 5, total_output_tokens: 2 } }), [
    { meters: { input: 5, output: 2 } },
  ])
  const cohere = {
    billed_units: { input_tokens: 8, output_tokens: 7 },
    tokens: { input_tokens: 503, output_tokens: 11 },
  }
  t.same(linesOf({ usage: cohere }), [{ meters: { input: 8, output: 7 } }])
  t.same(linesOf({ meta: cohere }), [{ meters: { input: 8, output: 7 } }])
  t.same(linesOf({ meta: { billed_units: { search_units: 2 } } }), [{ meters: { searches: 2 } }])
  const events = 'text/event-stream'
  t.same(linesOf(eventStream({ type: 'message-end', delta: { usage: cohere } }), events), [
    { meters: { input: 8, output: 7 } },
  ])
  t.same(
    linesOf(
      eventStream(
        { type: 'message_start', message: { usage: { input_tokens: 4 } } },
        { type: 'message_delta', usage: { output_tokens: 2 } },
      ),
      events,
    ),
    [{ meters: { input: 4, output: 2 } }],
  )
  t.same(
    linesOf(
      eventStream({ type: 'response.completed', response: { usage: { input_tokens: 4, output_tokens: 2 } } }),
      events,
    ),
    [{ meters: { input: 4, output: 2 } }],
  )
  t.same(linesOf({ hello: 'world' }), [])
  t.equal(readResponse(genericOperation, { hello: 'world' }).hasOutput, true)
  t.equal(readResponse(genericOperation, { error: { message: 'x' } }).hasOutput, false)
})
