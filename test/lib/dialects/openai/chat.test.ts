import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { chat } from '../../../../lib/dialects/openai/chat.ts'
import { completions } from '../../../../lib/dialects/openai/completions.ts'
import { eventStream, factsOf, readResponse } from '../read-response.ts'

const usage = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }
const events = { contentType: 'text/event-stream' }
const delta = (content: string): unknown => ({ model: 'gpt-x', choices: [{ delta: { content } }] })

await t.test('the last usage of a stream counts, in whichever chunk it is', async t => {
  const streams = [
    eventStream(delta('hé'), { choices: [], usage }, '[DONE]'),
    eventStream(
      { choices: [], usage: { ...usage, completion_tokens: 1, total_tokens: 11 } },
      { choices: [{ delta: {} }], usage },
      '[DONE]',
    ),
    eventStream({ choices: [], usage }, { choices: [], usage: null }, '[DONE]'),
    eventStream({ choices: [{ delta: {} }], x_groq: { usage } }, '[DONE]'),
  ]
  for (const stream of streams) {
    const reading = readResponse(chat, stream, events)
    t.same(reading.lines, [{ meters: { input: 10, output: 4 } }])
    t.equal(reading.raw, JSON.stringify(usage))
    t.equal(reading.isTerminal, true)
    t.same(reading.flags, [])
  }
})

await t.test('the bytes of the text and the model are read from deltas', async t => {
  const reading = readResponse(chat, eventStream(delta('hé'), delta('llo'), '[DONE]'), events)
  t.equal(reading.outputTextBytes, 6)
  t.equal(reading.hasOutput, true)
  t.equal(reading.model, 'gpt-x')
  t.same(reading.lines, [])
  const first = { choices: [{ delta: { role: 'assistant', content: '' } }] }
  t.equal(readResponse(chat, eventStream(first), events).hasOutput, false)
  const tool = { choices: [{ delta: { tool_calls: [{ function: { name: 'f', arguments: '{"a"' } }] } }] }
  t.match(readResponse(chat, eventStream(tool), events), { hasOutput: true, outputTextBytes: 4 })
})

await t.test('a stream that breaks off is not terminal, and an error in it is found', async t => {
  t.match(readResponse(chat, eventStream(delta('a')), events), { isTerminal: false, hasError: false })
  const failed = eventStream(delta('a'), { error: { message: 'x' } })
  t.match(readResponse(chat, failed, events), { isTerminal: false, hasError: true, hasOutput: true })
  t.match(readResponse(chat, 'event: error\ndata: {"error":{"message":"x"}}\n\n', events), { hasError: true })
})

await t.test('Perplexity ends a stream with a chat.completion.done object instead of [DONE]', async t => {
  const stream = eventStream(
    { object: 'chat.completion.chunk', usage },
    { object: 'chat.completion.done', usage },
  )
  t.equal(readResponse(chat, stream, events).isTerminal, true)
})

await t.test('a document is read after leading blank lines', async t => {
  const answer = { model: 'm', choices: [{ message: { content: 'abc' } }], usage }
  const reading = readResponse(chat, `\n\n  \n${JSON.stringify(answer)}`)
  t.match(reading, { isTerminal: true, hasOutput: true, outputTextBytes: 3, model: 'm' })
  t.same(reading.lines, [{ meters: { input: 10, output: 4 } }])
})

await t.test(
  'an error with status 200 is found in a document and in a body that is no event stream',
  async t => {
    const error = { error: { message: 'upstream', code: 502 } }
    t.match(readResponse(chat, error), { hasError: true, lines: [], hasOutput: false })
    t.match(readResponse(chat, error, events), { hasError: true, isTerminal: true })
    t.match(readResponse(chat, { error: null, choices: [], usage }), { hasError: false })
  },
)

await t.test('the line has the served tier', async t => {
  for (const [tier, served] of [
    ['flex', 'flex'],
    ['priority', 'priority'],
    ['default', undefined],
    ['on_demand', undefined],
  ]) {
    t.equal(readResponse(chat, { service_tier: tier, usage }).lines[0]?.tier, served)
  }
})

await t.test('a zero usage of a complete response is flagged', async t => {
  const zero = { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }
  t.same(readResponse(chat, zero).flags, ['usage_zero'])
  t.same(readResponse(chat, { ...zero, error: { message: 'x' } }).flags, [])
})

await t.test('model, stream and limits are read, with the span of the model', async t => {
  const body =
    '{"messages":[],"model":"g\\u0070t","stream":true,"max_tokens":5,"max_completion_tokens":9,"n":3,"stream_options":{"include_usage":true}}'
  const facts = factsOf(chat, body)
  t.match(facts, {
    model: 'gpt',
    isStreaming: true,
    outputTokensCap: 5,
    completionTokensCap: 9,
    candidates: 3,
  })
  t.equal(body.slice(facts.modelSpan?.start, facts.modelSpan?.end), '"g\\u0070t"')
  t.equal(facts.usageSplice, undefined)
  t.equal(facts.textBytes, body.length)
  t.match(factsOf(chat, { model: 'm', stream: null, n: null, max_tokens: null }), {
    isStreaming: false,
    candidates: 1,
  })
})

await t.test('a member of the wrong type is refused with its path', async t => {
  const wrong: readonly (readonly [unknown, string])[] = [
    [{ model: 7 }, 'model'],
    [{ model: ['m'] }, 'model'],
    [{ stream: 'true' }, 'stream'],
    [{ stream: 1 }, 'stream'],
    [{ max_tokens: '5' }, 'max_tokens'],
    [{ max_tokens: -1 }, 'max_tokens'],
    [{ max_tokens: 1.5 }, 'max_tokens'],
    [{ n: [] }, 'n'],
    [{ stream: true, stream_options: 'x' }, 'stream_options'],
    [{ stream: true, stream_options: { include_usage: 'yes' } }, 'stream_options.include_usage'],
  ]
  for (const [body, param] of wrong) t.throws(() => factsOf(chat, body), { code: 'body_invalid', param })
})

await t.test('the smallest splice requests usage, and the body stays valid', async t => {
  const withUsage = { model: 'm', stream: true, stream_options: { include_usage: true } }
  const bodies: readonly (readonly [string, unknown])[] = [
    ['{"model":"m","stream":true}', withUsage],
    ['{"stream" : true , "model":"m"}', withUsage],
    ['{"model":"m","stream":true,"stream_options":null}', withUsage],
    ['{"model":"m","stream":true,"stream_options":{}}', withUsage],
    ['{"model":"m","stream":true,"stream_options":{ \n }}', withUsage],
    ['{"model":"m","stream_options":{"include_usage":false},"stream":true}', withUsage],
    ['{"model":"m","stream":true,"stream_options":{"include_usage":null}}', withUsage],
    [
      '{"model":"m","stream":true,"stream_options":{"include_obfuscation":false}}',
      { ...withUsage, stream_options: { include_usage: true, include_obfuscation: false } },
    ],
  ]
  for (const operation of [chat, completions]) {
    for (const [body, expected] of bodies) {
      const splice = factsOf(operation, body).usageSplice
      const { start, end } = splice?.span ?? { start: 0, end: 0 }
      t.same(
        JSON.parse(`${body.slice(0, start)}${splice?.bytes.toString()}${body.slice(end)}`),
        expected,
        body,
      )
    }
    t.equal(factsOf(operation, '{"model":"m","stream":false,"stream_options":null}').usageSplice, undefined)
    t.equal(factsOf(operation, '{"model":"m"}').usageSplice, undefined)
  }
})

await t.test('a splice changes nothing but include_usage', async () => {
  const streamOptions = fc.oneof(
    fc.constant(null),
    fc.record(
      {
        include_usage: fc.constantFrom(null, false),
        include_obfuscation: fc.boolean(),
        other: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  )
  const rest = fc.dictionary(fc.stringMatching(/^[a-f]{1,4}$/), fc.jsonValue(), { maxKeys: 3 })
  const indent = fc.constantFrom(undefined, 1, '\t')
  fc.assert(
    fc.property(
      rest,
      rest,
      fc.option(streamOptions, { nil: undefined }),
      indent,
      (before, after, options, space) => {
        const request = {
          ...before,
          stream: true,
          ...(options !== undefined && { stream_options: options }),
          ...after,
        }
        const body = Buffer.from(JSON.stringify(request, null, space))
        const splice = factsOf(chat, body.toString()).usageSplice
        if (splice === undefined) return false
        const { start, end } = splice.span
        const spliced = Buffer.concat([body.subarray(0, start), splice.bytes, body.subarray(end)])
        const expected = { ...request, stream_options: { ...options, include_usage: true } }
        return isDeepStrictEqual(JSON.parse(spliced.toString()), JSON.parse(JSON.stringify(expected)))
      },
    ),
  )
})

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64')

await t.test('media are found in every kind of content part', async t => {
  const content = [
    { type: 'text', text: 'look' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
    { type: 'image_url', image_url: 'https://example.com/a.png' },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    { type: 'file', file: { file_data: `data:application/pdf;base64,JVBERi0=` } },
    { type: 'file', file: { file_id: 'file-1' } },
  ]
  const body = {
    model: 'm',
    messages: [
      { role: 'user', content: 'no' },
      { role: 'user', content },
    ],
  }
  const facts = factsOf(chat, body)
  t.match(facts.media, [
    { path: 'messages[1].content[1].image_url.url', kind: 'image', detectedType: 'image/png', bytes: 16 },
    { path: 'messages[1].content[2].image_url', kind: 'image' },
    { path: 'messages[1].content[3].input_audio.data', kind: 'audio', bytes: 3 },
    { path: 'messages[1].content[4].file.file_data', kind: 'document', declaredType: 'application/pdf' },
  ])
  t.equal(facts.media[1]?.bytes, undefined)
  t.same(facts.objects, [
    { kind: 'file', id: 'https://example.com/a.png', host: 'example.com' },
    { kind: 'file', id: 'file-1' },
  ])
  const inline = facts.media.reduce((sum, part) => sum + part.bodyBytes, 0)
  t.equal(facts.textBytes, JSON.stringify(body).length - inline)
})

await t.test("cached contents in Google's own options are named", async t => {
  const google = { cached_content: 'cachedContents/a' }
  for (const body of [{ google }, { extra_body: { google } }]) {
    t.same(factsOf(chat, body).objects, [{ kind: 'cachedContent', id: 'cachedContents/a' }])
  }
})

await t.test('candidates of legacy completions are multiplied by prompts and best_of', async t => {
  t.equal(factsOf(completions, { prompt: 'a', n: 2 }).candidates, 2)
  t.equal(factsOf(completions, { prompt: ['a', 'b', 'c'], n: 2 }).candidates, 6)
  t.equal(factsOf(completions, { prompt: [1, 2, 3], best_of: 4 }).candidates, 4)
  t.equal(factsOf(completions, { prompt: [[1], [2]] }).candidates, 2)
  const reading = readResponse(completions, { choices: [{ text: 'abc' }], usage })
  t.match(reading, { outputTextBytes: 3, lines: [{ meters: { input: 10, output: 4 } }] })
})

await t.test('search models are billed one search for each response, streamed or not', async t => {
  const model = 'gpt-4o-mini-search-preview-2025-03-11'
  const searched = [{ meters: { input: 10, output: 4, searches: 1 } }]
  const choices = [{ message: { content: 'Found.' } }]
  t.same(readResponse(chat, { model, choices, usage }).lines, searched)
  t.same(readResponse(chat, { model: 'gpt-5-search-api', choices, usage }).lines, searched)
  const stream = eventStream(
    { model, choices: [{ delta: { content: 'F' } }] },
    { model, choices: [], usage },
    '[DONE]',
  )
  t.same(readResponse(chat, stream, events).lines, searched)
  t.same(readResponse(chat, { model: 'gpt-4o-mini', choices, usage }).lines, [
    { meters: { input: 10, output: 4 } },
  ])
  const billed = { ...usage, server_tool_use: { web_search_requests: 3 } }
  t.match(readResponse(chat, { model, choices, usage: billed }).lines, [{ meters: { searches: 3 } }])
})
