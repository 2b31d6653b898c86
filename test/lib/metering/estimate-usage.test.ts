import t from 'tap'
import { memoryBody } from '../../../lib/bodies/outgoing-body.ts'
import { openai } from '../../../lib/dialects/openai/openai.ts'
import type { EstimatedRequest } from '../../../lib/metering/estimate-usage.ts'
import { estimateInput, estimateOutput, estimateUsage } from '../../../lib/metering/estimate-usage.ts'
import { TokenCounter } from '../../../lib/metering/token-counter.ts'
import { buildPrice } from '../../../lib/money/pricing.ts'
import type { UsageReading } from '../../../lib/money/usage.ts'
import { sumMeters } from '../../fixtures/expected-usage.ts'
import { eventStream, factsOf, readResponse } from '../dialects/read-response.ts'
import * as recorded from '../dialects/recordings.ts'

const counter = new TokenCounter({ timeoutMs: 30_000 })
t.teardown(() => counter.close())
const uncounted = { count: () => Promise.resolve(undefined) }
const price = buildPrice({ model: 'm', rubPerMillion: { input: '1', output: '1' } })
const { operation: chat } = openai.match('POST', '/chat/completions')

function chatRequest(body: object): EstimatedRequest {
  return {
    facts: factsOf(chat, body),
    json: memoryBody(Buffer.from(JSON.stringify(body))),
    price,
    providerKind: 'openai',
    isGeneration: true,
  }
}

const hello = chatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hello, world!' }] })
const events = { contentType: 'text/event-stream' }
const delta = (content: string): object => ({ choices: [{ delta: { content } }] })

await t.test('without usage, input and output are counted', async t => {
  const reading = readResponse(chat, eventStream(delta('Good'), delta(' morning!'), '[DONE]'), events)
  t.same(await estimateUsage(hello, reading, counter), {
    line: { meters: { input: 11, output: 3 } },
    estimates: [
      { tokens: 11, isCounted: true },
      { tokens: 3, isCounted: true },
    ],
  })
})

await t.test('tokens that cannot be counted are estimated from the length of the text', async t => {
  const reading = readResponse(chat, eventStream(delta('x'.repeat(400))), events)
  t.same(await estimateOutput(hello, reading, uncounted), { tokens: 100, isCounted: false })
  t.same(await estimateInput(hello, uncounted), {
    tokens: Math.ceil(hello.facts.textBytes / 4),
    isCounted: false,
  })
  t.match(await estimateInput({ ...hello, json: undefined }, counter), { isCounted: false })
})

await t.test('the tokens of a long response are extrapolated from a sample', async t => {
  const chunks = Array.from({ length: 20_000 }, (_, index) => delta(` word${index % 10}`))
  const reading = readResponse(chat, eventStream(...chunks), events)
  t.equal(reading.textSample?.bytes.length, 16_384)
  const { tokens } = await estimateOutput(hello, reading, counter)
  t.ok(Math.abs(tokens / 40_000 - 1) < 0.01, `${tokens} of 40000`)
})

await t.test('the tokens of a long request are extrapolated too, also with every letter escaped', async t => {
  const content = 'Сегодня хорошая погода, и мы идём гулять. '.repeat(3000)
  const plain = chatRequest({ messages: [{ role: 'user', content }] })
  const escaped = Buffer.from(
    JSON.stringify({ messages: [{ role: 'user', content }] }).replace(
      /[\u0400-\u04ff]/g,
      character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  )
  const { tokens } = await estimateInput(plain, counter)
  const same = await estimateInput(
    { ...plain, json: memoryBody(escaped), facts: { ...plain.facts, textBytes: escaped.length } },
    counter,
  )
  t.ok(escaped.length > 262_144)
  t.ok(Math.abs(same.tokens / tokens - 1) < 0.02, `${same.tokens} and ${tokens}`)
})

await t.test('after a usage in a stream only the text behind it is unmetered', async t => {
  const usage = { usage: { prompt_tokens: 5, completion_tokens: 2 } }
  const early = readResponse(chat, eventStream({ ...usage, ...delta('Good') }, delta(' day')), events)
  t.match(early, { outputTextBytes: 8, unmeteredTextBytes: 4 })
  const all = readResponse(chat, eventStream(delta('Good'), { ...delta(' day'), ...usage }), events)
  t.match(all, { outputTextBytes: 8, unmeteredTextBytes: 0, textSample: undefined })
  const document = { ...usage, choices: [{ message: { content: 'Good day' } }] }
  t.match(readResponse(chat, document), { outputTextBytes: 8, unmeteredTextBytes: 0 })
})

await t.test('the sample of a document keeps its escapes', async t => {
  const reading = readResponse(chat, { choices: [{ message: { content: 'Доброе\n"утро"' } }] })
  t.equal(reading.textSample?.isEscaped, true)
  t.same(JSON.parse(`"${reading.textSample?.bytes.toString()}"`), 'Доброе\n"утро"')
  t.match(await estimateOutput(hello, reading, counter), { isCounted: true })
})

/** Tools that the provider runs read pages that the gateway never sees, so their tokens cannot be estimated. */
const unseen =
  /"(?:web_search|web_fetch|code_execution|code_interpreter|mcp|file_search|computer|image_generation|advisor|googleSearch|google_search|codeExecution|code_execution|urlContext|web_search_options|plugins|mcp_servers|multi_agent|context_management|compact)/

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

/** The errors of an estimate by provider, over the recordings for which `measure` returns one. */
async function recordedErrors(
  measure: (recording: recorded.Recording, kind: string) => Promise<number | undefined>,
): Promise<Map<string, number[]>> {
  const errors = new Map<string, number[]>()
  for (const recording of recorded.loadRecordings()) {
    const providerKind = recorded.providerKindOf(recording)
    const error = await measure(recording, providerKind)
    if (error !== undefined) errors.set(providerKind, [...(errors.get(providerKind) ?? []), error])
  }
  for (const [kind, values] of errors)
    t.comment(`${kind}: ${values.length} recordings, median error ${median(values).toFixed(2)}`)
  return errors
}

/** Reads the recorded response, or the same with its usage under a name that no reader knows. */
function readRecorded(recording: recorded.Recording, hideUsage: boolean): UsageReading | undefined {
  const route = recorded.routeOf(recording)
  const contentType = recording.response.headers['content-type']?.split(';')[0] ?? ''
  const context = { providerKind: recorded.providerKindOf(recording), facts: recorded.noFacts }
  const reader = route?.operation.readUsage?.({ status: 200, contentType }, context)
  const bytes = recorded.bytesOf(recording.response)
  const answer = bytes.toString('latin1')
  reader?.push(
    hideUsage ? Buffer.from(answer.replace(/"(usage|usageMetadata)":/g, '"hidden":'), 'latin1') : bytes,
  )
  return reader?.end()
}

await t.test('recorded prompts are estimated closely', { skip: recorded.recordingsSkip }, async t => {
  const errors = await recordedErrors(async (recording, providerKind) => {
    const route = recorded.routeOf(recording)
    const body = recording.request?.body ?? ''
    const isUsable =
      route?.operation.mainMeter === 'output' &&
      recording.response.status < 300 &&
      route.operation.factsFromJson !== undefined &&
      body.startsWith('{') &&
      !unseen.test(body) &&
      !/"(?:background|agent|previous_response_id|conversation)":/.test(body)
    if (!isUsable) return undefined
    const facts = recorded.factsOf(recording, route.operation, route.dialect)
    const lines = readRecorded(recording, false)?.lines ?? []
    const truth = sumMeters({ lines }, ['input', 'cachedInput', 'cacheWrite5m', 'cacheWrite1h'])
    if (facts.media.length > 0 || facts.objects.length > 0 || truth === 0) return undefined
    const request = { facts, price, json: memoryBody(Buffer.from(body)), providerKind, isGeneration: true }
    return Math.abs((await estimateInput(request, counter)).tokens / truth - 1)
  })

  for (const [kind, limit] of Object.entries({ openai: 0.1, anthropic: 0.2, google: 0.2 })) {
    const values = errors.get(kind) ?? []
    t.ok(values.length >= 20, `${kind} has prompts to try`)
    t.ok(median(values) <= limit, `${kind}: the median error is ${median(values).toFixed(2)}`)
  }
})

await t.test('recorded responses are estimated closely', { skip: recorded.recordingsSkip }, async t => {
  const errors = await recordedErrors(async (recording, providerKind) => {
    if (recording.response.status > 299 || recorded.routeOf(recording)?.operation.mainMeter !== 'output')
      return undefined
    if (unseen.test(recording.request?.body ?? '')) return undefined
    const metered = readRecorded(recording, false)
    const hidden = readRecorded(recording, true)
    const truth = sumMeters({ lines: metered?.lines ?? [] }, ['output'])
    // Hidden reasoning cannot be counted, nor can the tokens of a tool call besides its arguments.
    const isText =
      recording.api !== 'payload-only' && !/"tools":|thinking|reasoning/.test(recording.request?.body ?? '')
    if (hidden === undefined || truth < 20 || !isText || metered?.details?.['reasoning'] !== undefined)
      return undefined
    t.same(hidden.lines, [], recording.file)
    const request = { ...hello, providerKind }
    return Math.abs((await estimateOutput(request, hidden, counter)).tokens / truth - 1)
  })

  t.ok(median([...errors.values()].flat()) <= 0.05)
})
