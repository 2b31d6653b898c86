import t from 'tap'
import { countTokens, messages } from '../../../../lib/dialects/anthropic/messages.ts'
import { eventStream, factsOf, readResponse } from '../read-response.ts'

const events = { contentType: 'text/event-stream', providerKind: 'anthropic' }

function stream(start: unknown, last: unknown, stopReason = 'end_turn'): string {
  return eventStream(
    { type: 'message_start', message: { model: 'claude', usage: start } },
    { type: 'ping' },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...(stopReason === 'refusal'
      ? []
      : [{ type: 'content_block_delta', delta: { type: 'text_delta', text: 'abc' } }]),
    { type: 'message_delta', delta: { stop_reason: stopReason }, usage: last },
    { type: 'message_stop' },
  )
}

await t.test('the closing event overrides the opening one field by field', async t => {
  const start = {
    input_tokens: 10,
    output_tokens: 1,
    cache_read_input_tokens: 5,
    cache_creation_input_tokens: 30,
    cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
  }
  const old = readResponse(messages, stream(start, { output_tokens: 9 }), events)
  t.same(old.lines, [
    { meters: { input: 10, cachedInput: 5, cacheWrite1h: 20, cacheWrite5m: 10, output: 9 } },
  ])
  t.match(old, { isTerminal: true, hasOutput: true, outputTextBytes: 3, model: 'claude', flags: [] })
  const grown = {
    input_tokens: 99,
    output_tokens: 9,
    cache_creation_input_tokens: 36,
    cache_read_input_tokens: null,
  }
  const lines = readResponse(messages, stream(start, grown), events).lines
  t.same(lines, [{ meters: { input: 99, cachedInput: 5, cacheWrite1h: 20, cacheWrite5m: 16, output: 9 } }])
})

await t.test(
  'unsplit cache writes count as five-minute writes, and a split beyond the total is flagged',
  async t => {
    const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 7 }
    t.same(readResponse(messages, { usage }).lines, [{ meters: { input: 1, cacheWrite5m: 7, output: 1 } }])
    const odd = { ...usage, cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 9 } }
    const reading = readResponse(messages, { usage: odd })
    t.same(reading.lines, [{ meters: { input: 1, cacheWrite1h: 7, output: 1 } }])
    t.same(reading.flags, ['usage_inconsistent'])
  },
)

await t.test('every iteration is charged at the price of its own model', async t => {
  const usage = {
    input_tokens: 220,
    output_tokens: 8,
    output_tokens_details: { thinking_tokens: 3 },
    server_tool_use: { web_search_requests: 2 },
    iterations: [
      { type: 'compaction', input_tokens: 1000, output_tokens: 100 },
      {
        type: 'advisor_message',
        model: 'claude-dear',
        input_tokens: 50,
        output_tokens: 5,
        cache_read_input_tokens: 7,
      },
      { type: 'message', input_tokens: 220, output_tokens: 8 },
    ],
  }
  const reading = readResponse(messages, { usage })
  t.same(reading.lines, [
    { meters: { input: 1220, output: 108, searches: 2 } },
    { model: 'claude-dear', meters: { input: 50, cachedInput: 7, output: 5 } },
  ])
  t.same(reading.details, { reasoning: 3 })
})

await t.test('an attempt that declined before any output is not charged', async t => {
  const iterations = [
    { type: 'message', model: 'a', input_tokens: 408, output_tokens: 0 },
    { type: 'fallback_message', model: 'b', input_tokens: 412, output_tokens: 264 },
  ]
  const usage = { input_tokens: 412, output_tokens: 264, iterations }
  t.same(readResponse(messages, { usage }).lines, [{ model: 'b', meters: { input: 412, output: 264 } }])
})

await t.test('a refusal is charged only with output', async t => {
  const usage = { input_tokens: 18, output_tokens: 5 }
  const refused = readResponse(messages, stream(usage, usage, 'refusal'), events)
  t.same(refused.lines, [{ meters: { input: 0, output: 0 } }])
  t.same(refused.flags, ['refusal_unbilled'])
  const thought = {
    usage,
    stop_reason: 'refusal',
    content: [{ type: 'thinking', thinking: '', signature: 'x' }],
  }
  t.same(
    readResponse(messages, thought).lines,
    [{ meters: { input: 18, output: 5 } }],
    'thinking counts as output, also when it is hidden',
  )
  const late = { usage, stop_reason: 'refusal', content: [{ type: 'text', text: 'I will' }] }
  t.same(readResponse(messages, late).lines, [{ meters: { input: 18, output: 5 } }])
})

await t.test('the tier of a line has the served tier, the speed and the region', async t => {
  const usage = { input_tokens: 1, output_tokens: 1 }
  const tierOf = (more: object): unknown =>
    readResponse(messages, { usage: { ...usage, ...more } }).lines[0]?.tier
  t.equal(tierOf({ service_tier: 'standard' }), undefined)
  t.equal(tierOf({ service_tier: 'batch' }), 'batch')
  t.equal(tierOf({ service_tier: 'standard', speed: 'fast' }), 'fast')
  t.equal(tierOf({ service_tier: 'standard', inference_geo: 'us' }), 'us')
  t.equal(tierOf({ service_tier: 'batch', inference_geo: 'us' }), 'batch+us')
  t.equal(tierOf({ inference_geo: 'global' }), undefined)
})

await t.test('an error event ends a stream, and the usage before it stays', async t => {
  const text = eventStream(
    { type: 'message_start', message: { usage: { input_tokens: 9, output_tokens: 1 } } },
    { type: 'error', error: { type: 'overloaded_error', message: 'x' } },
  )
  const reading = readResponse(messages, text, events)
  t.match(reading, { hasError: true, isTerminal: false, hasOutput: false, flags: ['usage_partial'] })
  t.same(reading.lines, [{ meters: { input: 9, output: 1 } }])
})

await t.test('facts of a request include media at every path', async t => {
  const image = (data: string): object => ({
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data },
  })
  const facts = factsOf(messages, {
    model: 'claude',
    max_tokens: 50,
    stream: true,
    container: { id: 'container_1' },
    system: [{ type: 'text', text: 's' }, image('AAAA')],
    messages: [
      { role: 'user', content: 'plain' },
      {
        role: 'user',
        content: [
          image('AAAAAAAA'),
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
          {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: 'not base64 at all!' },
          },
          { type: 'document', source: { type: 'content', content: [image('AAAA')] } },
          { type: 'tool_result', content: [{ type: 'text', text: 'x' }, image('AAAA')] },
          { type: 'document', source: { type: 'file', file_id: 'file_1' } },
          // It goes to a container, not to the model.
          { type: 'container_upload', file_id: 'file_2' },
        ],
      },
    ],
  })
  t.match(facts, { model: 'claude', outputTokensCap: 50, isStreaming: true })
  t.same(
    facts.media.map(part => [part.path, part.kind, part.bytes, part.isInvalid]),
    [
      ['system[1].source', 'image', 3, undefined],
      ['messages[1].content[0].source', 'image', 6, undefined],
      ['messages[1].content[1].source', 'image', undefined, undefined],
      ['messages[1].content[2].source', 'document', 5, undefined],
      ['messages[1].content[4].source.content[0].source', 'image', 3, undefined],
      ['messages[1].content[5].content[1].source', 'image', 3, undefined],
      ['messages[1].content[6].source.file_id', 'document', undefined, undefined],
    ],
  )
  t.same(facts.objects, [
    { kind: 'container', id: 'container_1' },
    { kind: 'file', id: 'https://example.com/a.png', host: 'example.com' },
    { kind: 'file', id: 'file_1' },
    { kind: 'file', id: 'file_2' },
  ])
  t.equal(countTokens.isFree, true)
  t.equal(factsOf(countTokens, { model: 'claude', messages: [] }).model, 'claude')
})
