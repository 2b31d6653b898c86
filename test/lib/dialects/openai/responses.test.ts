import t from 'tap'
import {
  responses,
  responsesCompact,
  responsesInputTokens,
} from '../../../../lib/dialects/openai/responses.ts'
import { eventStream, factsOf, noFacts, readAnswer } from '../read-answer.ts'

const usage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 6,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 16,
}
const line = { meters: { cachedInput: 4, input: 6, output: 6 } }
const events = { contentType: 'text/event-stream' }
const created = { type: 'response.created', response: { id: 'resp_1', model: 'm', usage: null, error: null } }

await t.test('usage is in the last event of a stream, however the answer ended', async t => {
  for (const type of ['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled']) {
    const stream = eventStream(
      created,
      { type: 'response.output_text.delta', delta: 'abc' },
      { type, response: { id: 'resp_1', usage } },
    )
    const reading = readAnswer(responses, stream, events)
    t.same(reading.lines, [line], type)
    t.match(reading, {
      isTerminal: true,
      hasOutput: true,
      outputTextBytes: 3,
      model: 'm',
      details: { reasoning: 2 },
    })
    t.equal(reading.raw, JSON.stringify(usage))
  }
})

await t.test('a failed answer is an error without usage', async t => {
  const error = { type: 'error', error: { type: 'server_error', message: 'x' } }
  const failed = {
    type: 'response.failed',
    response: { id: 'r', status: 'failed', usage: null, error: { code: 'x' } },
  }
  t.match(readAnswer(responses, eventStream(created, error), events), { hasError: true, isTerminal: false })
  const reading = readAnswer(responses, eventStream(created, failed), events)
  t.match(reading, { hasError: true, isTerminal: true, hasOutput: false })
  t.same(reading.lines, [])
})

await t.test('a document has the same members at its top', async t => {
  const output = [{ type: 'message', content: [{ type: 'output_text', text: 'abcd' }] }]
  const reading = readAnswer(responses, {
    id: 'r',
    model: 'm',
    status: 'completed',
    error: null,
    output,
    usage,
  })
  t.same(reading.lines, [line])
  t.match(reading, { isTerminal: true, hasError: false, hasOutput: true, outputTextBytes: 4 })
  t.equal(readAnswer(responses, { id: 'r', output: [], usage }).hasOutput, false)
})

await t.test('searches have a counter of their own, and so have images drawn by a tool', async t => {
  const tools = {
    web_search: { num_requests: 2 },
    image_gen: { input_tokens: 3, output_tokens: 9, total_tokens: 12 },
  }
  const reading = readAnswer(responses, { id: 'r', usage, tool_usage: tools })
  const drawn = { model: 'gpt-image-1', meters: { input: 3, output: 0, imageOutput: 9 } }
  t.same(reading.lines, [{ meters: { ...line.meters, searches: 2 } }, drawn])
  t.same(reading.flags, [])
  t.same(JSON.parse(reading.raw ?? ''), { usage, usageTools: tools })
})

await t.test('searches that nobody counted are those that stand in the finished answer', async t => {
  const item = (action?: string) => ({
    type: 'web_search_call',
    ...(action !== undefined && { action: { type: action } }),
  })
  const output = [item('search'), item(), item('open_page'), item('find_in_page'), { type: 'message' }]
  const searched = [{ meters: { ...line.meters, searches: 2 } }]
  t.same(readAnswer(responses, { id: 'r', output, usage }).lines, searched)
  const events = eventStream(
    { type: 'response.output_item.done', item: item('search') },
    { type: 'response.completed', response: { id: 'r', output, usage } },
  )
  const reader = responses.readUsage?.(
    { status: 200, contentType: 'text/event-stream' },
    { providerKind: 'openai', facts: noFacts },
  )
  reader?.push(Buffer.from(events))
  t.same(reader?.end().lines, searched)
  const tools = { web_search: { num_requests: 0 } }
  t.same(readAnswer(responses, { id: 'r', output, usage, tool_usage: tools }).lines, [line])
})

await t.test('the response and its container are named before the stream ends, once', async t => {
  const reader = responses.readUsage?.(
    { status: 200, contentType: 'text/event-stream' },
    { providerKind: 'openai', facts: noFacts },
  )
  reader?.push(Buffer.from(eventStream(created)))
  t.same(reader?.takeObjects(), [{ kind: 'response', id: 'resp_1' }])
  reader?.push(
    Buffer.from(
      eventStream({
        type: 'response.output_item.added',
        item: { type: 'code_interpreter_call', container_id: 'cntr_1' },
      }),
    ),
  )
  reader?.push(Buffer.from(eventStream({ type: 'response.completed', response: { id: 'resp_1', usage } })))
  t.same(reader?.takeObjects(), [{ kind: 'container', id: 'cntr_1' }])
  t.same(reader?.takeObjects(), [])
})

await t.test('the response is named as soon as the beginning of a document is here', async t => {
  const reader = responses.readUsage?.(
    { status: 200, contentType: 'application/json' },
    { providerKind: 'openai', facts: noFacts },
  )
  reader?.push(Buffer.from('{"id": "resp_1", "object": "response", "output": ['))
  t.same(reader?.takeObjects(), [{ kind: 'response', id: 'resp_1' }])
  const reading = reader?.end()
  t.match(reading, { isTerminal: false, lines: [] })
})

await t.test('objects that a request refers to are named', async t => {
  const facts = factsOf(responses, {
    model: 'm',
    previous_response_id: 'resp_0',
    conversation: { id: 'conv_1' },
    max_output_tokens: 7,
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_file', file_id: 'file_1' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
        ],
      },
      {
        type: 'function_call_output',
        output: [{ type: 'input_image', image_url: 'https://example.com/x.png' }],
      },
      { type: 'computer_call_output', output: { image_url: 'data:image/png;base64,AAAA' } },
      { type: 'image_generation_call', result: 'AAAA' },
    ],
    tools: [
      { type: 'code_interpreter', container: 'cntr_1' },
      { type: 'code_interpreter', container: { file_ids: ['file_2'] } },
    ],
  })
  t.same(facts.objects, [
    { kind: 'response', id: 'resp_0' },
    { kind: 'conversation', id: 'conv_1' },
    { kind: 'file', id: 'file_1' },
    { kind: 'file', id: 'https://example.com/x.png', host: 'example.com' },
    { kind: 'container', id: 'cntr_1' },
    { kind: 'file', id: 'file_2' },
  ])
  t.same(
    facts.media.map(part => part.path),
    [
      'input[0].content[0].file_id',
      'input[0].content[1].image_url',
      'input[1].output[0].image_url',
      'input[2].output.image_url',
      'input[3].result',
    ],
  )
  t.equal(facts.outputTokensCap, 7)
  t.same(factsOf(responses, { model: 'm', conversation: 'conv_2' }).objects, [
    { kind: 'conversation', id: 'conv_2' },
  ])
})

await t.test('a background answer is a job: it goes on until its status says how it ended', async t => {
  const facts = factsOf(responses, { model: 'm', background: true })
  t.equal(facts.startsJob, true)
  t.equal(factsOf(responses, { model: 'm', background: false, input: 'x' }).startsJob, undefined)
  const job = (answer: object): unknown => readAnswer(responses, { id: 'r', ...answer }, { facts }).job
  t.same(job({ status: 'queued', usage: null }), { kind: 'response', id: 'r', state: 'running' })
  t.match(job({ status: 'in_progress' }), { state: 'running' })
  t.match(job({ status: 'completed', usage }), { state: 'done' })
  t.match(job({ status: 'incomplete', usage }), { state: 'done' })
  t.match(job({ status: 'failed', error: { code: 'x' } }), { state: 'failed' })
  t.match(job({ status: 'cancelled', usage: null }), { state: 'failed' })
  t.equal(readAnswer(responses, { id: 'r', status: 'completed', usage }).job, undefined, 'nor is any other')
})

await t.test('compacting is charged and counting is free', async t => {
  t.same(readAnswer(responsesCompact, { id: 'r', object: 'response.compaction', output: [], usage }).lines, [
    line,
  ])
  t.equal(responsesCompact.isFree, false)
  t.equal(responsesInputTokens.isFree, true)
})

await t.test('an item that is sent back whole is no reference, one that stands for another is', t => {
  const named = (item: object): unknown =>
    factsOf(responses, { model: 'm', input: [item] }).objects.map(({ kind, id }) => `${kind} ${id}`)
  for (const reference of [
    { type: 'item_reference', id: 'i' },
    { type: null, id: 'i' },
    { id: 'i' },
    { type: 'reasoning', id: 'i', summary: [], encrypted_content: null },
    { type: 'reasoning', id: 'i', summary: [{ type: 'summary_text', text: 'x' }] },
    { type: 'reasoning', id: 'i', summary: [], content: [] },
    { type: 'reasoning', id: 'i', summary: [], content: [{ type: 'reasoning_text', text: '' }] },
    { type: 'image_generation_call', id: 'i', result: null },
    // What stands beside a reference does not make it less of one.
    { type: 'item_reference', id: 'i', role: 'user' },
    { type: 'item_reference', id: 'i', encrypted_content: 'x', result: 'AAAA', content: [{ text: 'x' }] },
    { id: 'i', content: [{ text: 'x' }] },
  ]) {
    t.same(named(reference), ['item i'], JSON.stringify(reference))
  }
  for (const whole of [
    { type: 'message', id: 'i', role: 'assistant', content: [] },
    { id: 'i', role: 'user', content: 'x' },
    { type: 'function_call', id: 'i', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'reasoning', id: 'i', summary: [], encrypted_content: 'x' },
    { type: 'reasoning', id: 'i', summary: [], content: [{ type: 'reasoning_text', text: 'x' }] },
  ]) {
    t.same(named(whole), [], JSON.stringify(whole))
  }
  const drawn = { type: 'image_generation_call', id: 'i', result: 'AAAA' }
  t.same(named(drawn), ['item i'], 'its provider may take the image that it has kept')
  t.end()
})

t.test('searches that are seen count where the counters of tools leave them out', t => {
  const usage = { input_tokens: 100, output_tokens: 10 }
  const output = [{ type: 'web_search_call' }, { type: 'web_search_call' }]
  for (const tools of [{}, { image_gen: { total_tokens: 0 } }, { web_search: null }, { web_search: {} }]) {
    const [line] = readAnswer(responses, { id: 'r', output, usage, tool_usage: tools }).lines
    t.equal(line?.meters.searches, 2, JSON.stringify(tools))
  }
  t.end()
})
