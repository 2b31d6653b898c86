import t from 'tap'
import { interactions } from '../../../../lib/dialects/google/interactions.ts'
import { factsOf, noFacts, readResponse } from '../read-response.ts'

const usage = {
  total_tokens: 240,
  total_input_tokens: 20,
  input_tokens_by_modality: [
    { modality: 'text', tokens: 8 },
    { modality: 'image', tokens: 12 },
  ],
  total_cached_tokens: 5,
  total_output_tokens: 13,
  total_tool_use_tokens: 7,
  total_thought_tokens: 200,
  grounding_tool_count: [
    { type: 'google_search', count: 1 },
    { type: 'google_maps', count: 1 },
    { type: 'retrieval', count: 5 },
  ],
}
const line = { meters: { cachedInput: 5, imageInput: 12, input: 10, output: 213, searches: 2 } }

await t.test('an interaction is measured like generated content', async t => {
  const answer = {
    id: 'v1_a',
    model: 'gemini',
    status: 'completed',
    usage,
    steps: [{ content: [{ text: 'abc' }] }],
  }
  const reading = readResponse(interactions, answer)
  t.same(reading.lines, [line])
  t.match(reading, {
    isTerminal: true,
    outputTextBytes: 3,
    model: 'gemini',
    flags: [],
    details: { reasoning: 200 },
  })
})

await t.test('a stream names the interaction at once and its usage at the end', async t => {
  const reader = interactions.readUsage?.(
    { status: 200, contentType: 'text/event-stream' },
    { providerKind: 'google', facts: noFacts },
  )
  const push = (event: string, data: unknown): void =>
    reader?.push(
      Buffer.from(`event: ${event}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`),
    )
  push('interaction.created', {
    event_type: 'interaction.created',
    interaction: { id: 'v1_a', model: 'gemini' },
  })
  t.same(reader?.takeObjects(), [{ kind: 'interaction', id: 'v1_a' }])
  push('step.delta', { event_type: 'step.delta', delta: { text: 'abc' } })
  t.equal(reader?.isTerminal, false)
  push('interaction.completed', { event_type: 'interaction.completed', interaction: { id: 'v1_a', usage } })
  t.equal(reader?.isTerminal, true)
  push('done', '[DONE]')
  t.match(reader?.end(), { lines: [line], outputTextBytes: 3 })
})

await t.test('facts of a request include its cap, media and objects', async t => {
  const facts = factsOf(
    interactions,
    {
      model: 'gemini',
      stream: true,
      previous_interaction_id: 'v1_0',
      generation_config: { max_output_tokens: 9 },
      input: [
        { type: 'text', text: 'x' },
        { type: 'image', data: 'AAAA', mime_type: 'image/png' },
        { type: 'video', uri: 'files/abc' },
        { role: 'user', content: [{ type: 'audio', data: 'AAAA' }] },
      ],
    },
    true,
  )
  t.match(facts, { model: 'gemini', isStreaming: true, outputTokensCap: 9 })
  t.same(
    facts.media.map(part => [part.path, part.kind]),
    [
      ['input[1]', 'image'],
      ['input[2]', 'video'],
      ['input[3].content[0]', 'audio'],
    ],
  )
  t.same(facts.objects, [
    { kind: 'interaction', id: 'v1_0' },
    { kind: 'file', id: 'files/abc' },
  ])
  t.equal(factsOf(interactions, { model: 'gemini', input: 'plain' }, true).media.length, 0)
})

await t.test('agents and background work are jobs, and an agent is priced by its name', async t => {
  t.match(factsOf(interactions, { agent: 'x' }, true), { model: 'x', startsJob: true })
  const facts = factsOf(interactions, { model: 'm', background: true }, true)
  t.match(facts, { model: 'm', startsJob: true })
  t.equal(factsOf(interactions, { model: 'm' }, true).startsJob, undefined)
  const job = (answer: object): unknown => readResponse(interactions, { id: 'i', ...answer }, { facts }).job
  t.same(job({ status: 'in_progress' }), { kind: 'interaction', id: 'i', state: 'running' })
  t.match(job({ status: 'completed' }), { state: 'done' })
  t.match(job({ status: 'requires_action' }), { state: 'done' })
  t.match(job({ status: 'failed' }), { state: 'failed' })
  t.match(job({ status: 'cancelled' }), { state: 'failed' })
})

await t.test('a request with both a model and an agent is refused, since the agent sets the price', t => {
  t.throws(() => factsOf(interactions, { model: 'cheap', agent: 'dear', input: 'x' }), {
    code: 'body_invalid',
  })
  t.match(factsOf(interactions, { agent: 'dear', input: 'x' }), { model: 'dear', startsJob: true })
  t.end()
})
