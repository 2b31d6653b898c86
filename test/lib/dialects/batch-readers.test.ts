import fc from 'fast-check'
import t from 'tap'
import { anthropic } from '../../../lib/dialects/anthropic/anthropic.ts'
import type { Dialect, UsageReader } from '../../../lib/dialects/dialect.ts'
import { GoogleBatchInputReader } from '../../../lib/dialects/google/batches.ts'
import { google } from '../../../lib/dialects/google/google.ts'
import { BatchInputReader } from '../../../lib/dialects/openai/batch-input.ts'
import { openai } from '../../../lib/dialects/openai/openai.ts'
import type { UsageReading } from '../../../lib/money/usage.ts'
import { noFacts } from './recordings.ts'

const object = { kind: 'batch', id: 'b' } as const

function reader({ jobKinds, name }: Dialect, isResults: boolean): UsageReader {
  const kind = jobKinds.find(({ kind }) => kind === 'batch')
  const operation = isResults ? kind?.results : kind?.retrieval
  const context = { providerKind: name, facts: noFacts, object }
  const made = operation?.readUsage?.({ status: 200, contentType: 'application/json' }, context)
  if (made === undefined) throw new Error('batches of this dialect have no reader')
  return made
}

function read(dialect: Dialect, isResults: boolean, documents: readonly unknown[]): UsageReading {
  const made = reader(dialect, isResults)
  for (const document of documents) made.push(Buffer.from(`${JSON.stringify(document)}\n`))
  return made.end()
}

const usage = { input_tokens: 10, output_tokens: 3, service_tier: 'batch' }
const message = { model: 'claude', content: [{ type: 'text', text: 'x' }], stop_reason: 'end_turn', usage }
const succeeded = (more: object): object => ({
  result: { type: 'succeeded', message: { ...message, ...more } },
})

await t.test('anthropic: lines by model, unbilled refusals, and a flag for missing usage', async t => {
  const iterations = [
    { type: 'message', input_tokens: 10, output_tokens: 3 },
    { type: 'advisor_message', model: 'opus', input_tokens: 7, output_tokens: 2 },
  ]
  const reading = read(anthropic, true, [
    succeeded({}),
    succeeded({ usage: { ...usage, iterations } }),
    succeeded({ stop_reason: 'refusal', content: [] }),
    succeeded({ usage: null }),
    { result: { type: 'expired' } },
  ])
  t.match(reading.lines, [
    { model: 'claude', meters: { input: 20, output: 6 }, tier: 'batch', sumOf: 2 },
    { model: 'opus', meters: { input: 7, output: 2 }, tier: 'batch', sumOf: 1 },
  ])
  t.same(reading.flags.toSorted(), ['refusal_unbilled', 'usage_missing'])
  t.match(reading.job, { ...object, state: 'done' })
})

await t.test('openai: searches of tools are counted, and a success without usage is flagged', async t => {
  const tools = { web_search: { num_requests: 2 } }
  const line = (status_code: number, body: object): object => ({ response: { status_code, body } })
  const reading = read(openai, true, [
    line(200, { model: 'gpt', usage: { input_tokens: 5, output_tokens: 1 }, tool_usage: tools }),
    line(200, { model: 'gpt' }),
    line(429, { error: {} }),
  ])
  t.match(reading.lines, [
    { model: 'gpt', meters: { input: 5, output: 1 }, tier: 'batch' },
    { model: 'gpt', meters: { searches: 2 }, tier: undefined },
  ])
  t.same(reading.flags, ['usage_missing'])
})

await t.test(
  'google: an output in both metadata and response counts once, and searches count by prompt',
  async t => {
    const answer = {
      usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2, totalTokenCount: 6 },
      candidates: [{ groundingMetadata: { webSearchQueries: ['a', 'b'] } }],
    }
    const output = { inlinedResponses: { inlinedResponses: [{ response: answer }, { error: { code: 3 } }] } }
    const metadata = { model: 'models/gemini-2.5-flash', state: 'BATCH_STATE_SUCCEEDED', output }
    const reading = read(google, false, [{ name: 'batches/b', metadata, done: true, response: output }])
    t.match(reading.lines, [{ meters: { input: 4, output: 2 } }, { meters: { searches: 1 } }])
    t.match(reading.job, { kind: 'batch', id: 'batches/b', state: 'done' })
  },
)

await t.test('google: searches of maps and images are counted, for each response separately', async t => {
  const answer = (groundingMetadata: object): object => ({
    response: {
      usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2, totalTokenCount: 6 },
      candidates: [{ groundingMetadata }],
      modelVersion: 'gemini-2.5-flash',
    },
  })
  const maps = { groundingChunks: [{ maps: { uri: 'u' } }, { maps: { uri: 'v' } }] }
  const answers = [
    answer(maps),
    answer({ webSearchQueries: ['a', 'b'], ...maps }),
    answer({}),
    answer({ imageSearchQueries: ['a'] }),
  ]
  const searched = [{ meters: { searches: 4 } }]
  t.match(read(google, true, answers).lines.slice(1), searched)
  const metadata = { model: 'models/gemini-2.5-flash', state: 'BATCH_STATE_SUCCEEDED' }
  const response = { inlinedResponses: { inlinedResponses: answers } }
  t.match(
    read(google, false, [{ name: 'batches/b', metadata, done: true, response }]).lines.slice(1),
    searched,
  )
})

await t.test('google: responses without usage are flagged', async t => {
  const response = { inlinedResponses: { inlinedResponses: [{ response: { embedding: { values: [1] } } }] } }
  const reading = read(google, false, [{ name: 'batches/b', done: true, response }])
  t.match(reading, { lines: [], flags: ['usage_missing'], job: { state: 'done' } })
  t.match(read(google, true, [{ response: { candidates: [] } }, { error: { code: 3 } }]), {
    lines: [],
    flags: ['usage_missing'],
    job: { state: 'done' },
  })
})

await t.test('readers accept any bytes without throwing', async t => {
  const documents = [
    succeeded({}),
    { id: 'b', status: 'completed', usage },
    { name: 'batches/b', done: true },
  ]
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes)),
    fc.json().map(text => Buffer.from(text)),
    fc.constantFrom(...documents.map(document => Buffer.from(JSON.stringify(document)))),
    fc.constant(Buffer.from('\n')),
  )
  const property = fc.property(fc.array(piece, { maxLength: 12 }), pieces => {
    const readers = [openai, anthropic, google].flatMap(dialect => [
      reader(dialect, true),
      reader(dialect, false),
    ])
    for (const each of [...readers, new BatchInputReader(), new GoogleBatchInputReader()]) {
      for (const bytes of pieces) each.push(bytes)
      each.end()
    }
  })
  t.doesNotThrow(() => fc.assert(property))
})
