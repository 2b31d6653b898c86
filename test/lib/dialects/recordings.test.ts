import t from 'tap'
import {
  comparableUsage,
  expectedRawUsage,
  inputMeters,
  normaliseUsage,
  outputMeters,
  sumMeters,
} from '../../fixtures/expected-usage.ts'
import type { Expected } from '../../fixtures/expected-usage.ts'
import type { UsageReading } from '../../../lib/money/usage.ts'
import {
  bytesOf,
  factsOf,
  loadRecordings,
  noFacts,
  providerKindOf,
  recordingsSkip,
  routeOf,
} from './recordings.ts'
import type { Recording } from './recordings.ts'

/** Reading byte by byte is slow: only responses shorter than this are read so. */
const byteByByteMax = 200_000
/** Recordings of requests that this release refuses to send, so it never has their responses to read. */
const refused: ReadonlySet<string> = new Set([
  'gemini-interactions/json-plain-test-agent-stream.json',
  'openai-responses/json-st-queued-test-background-mode-streaming-without-starting-after-vcr.json',
  'openai-responses/sse-background-test-background-mode-streaming-continuation-vcr.json',
])

/** Responses that are inconsistent themselves: their numbers are used, and flagged for the operator. */
const odd: Readonly<Record<string, readonly string[]>> = {
  // The last chunk lacks the candidate tokens of an earlier one.
  'gemini-stream/sse-nonmonotonic-builtin-tools-test-native-output-with-builtin-tools-stream.json': [
    'usage_decreased',
  ],
  // A tool generated an image before its counter existed: the image has a line of the model that generated it.
  'openai-responses/json-o-image-generation-call-test-openai-responses-image-generation-jpeg.json': [
    'drawing_uncounted',
  ],
}

function read(recording: Recording, sizeOf: () => number): UsageReading | undefined {
  const route = routeOf(recording)
  const requestFacts =
    route === undefined || refused.has(recording.file)
      ? noFacts
      : factsOf(recording, route.operation, route.dialect)
  // The model of a job is known from its submission.
  const facts = route?.operation.job === undefined ? requestFacts : { ...requestFacts, model: 'gpt-5-nano' }
  const contentType =
    (recording.response.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  const reader = route?.operation.readUsage?.(
    { status: recording.response.status, contentType },
    { providerKind: providerKindOf(recording), facts },
  )
  if (reader === undefined) return undefined
  const bytes = bytesOf(recording.response)
  for (let position = 0; position < bytes.length;) {
    const size = sizeOf()
    reader.push(bytes.subarray(position, position + size))
    position += size
  }
  return reader.end()
}

/**
 * Payloads recorded without request and framing have no independent reading, so their expected sums are calculated
 * by hand: input, output, and the share of other models.
 */
const payloads: Readonly<Record<string, readonly [input: number, output: number, otherModel?: number]>> = {
  'alibaba-qwen--alibaba-reasoning-sse': [24, 1355],
  'alibaba-qwen--alibaba-text-sse': [18, 779],
  'alibaba-qwen--alibaba-tool-call-json': [295, 22],
  'anthropic--anthropic-advisor-20250301.1-sse': [1051 + 3676 + 2728, 35 + 3356 + 3880, 2728 + 3880],
  'anthropic--anthropic-code-execution-20260120-prompt-cache.1-sse': [6 + 6289 + 3337, 198],
  // The first model declined before any output, so only the fallback is billed.
  'anthropic--anthropic-fallback-json': [412, 264, 412 + 264],
  'anthropic--anthropic-fallback-sse': [412, 264, 412 + 264],
  'anthropic--anthropic-message-delta-input-tokens-sse': [61, 2],
  // A refusal before any output reports 18 and 5 tokens, and is not billed.
  'anthropic--anthropic-refusal-sse': [0, 0],
  'gemini-interactions--google-search-sse': [22 + 198, 590 + 1173],
  'openai-responses--openai-error.1-sse': [0, 0],
  'openai-responses--openai-image-generation-tool.1-sse': [2941, 1249 + 408, 408],
  'perplexity--perplexity-citations-sse': [10, 336],
  // xAI's completion excludes reasoning.
  'xai-chat--xai-text-json': [12, 1 + 228],
  'xai-chat--xai-text-sse': [12, 1 + 290],
  'xai-chat--xai-tool-call-sse': [291, 26 + 196],
}

/** Whether a line belongs to a model. Lines of the requested model have no name. */
function isOf(model: string): (name?: string) => boolean {
  return name => (name ?? '(request model)') === model
}

await t.test(
  'every recorded response is read with the same usage as by an independent program',
  { skip: recordingsSkip },
  async t => {
    const sizes = [() => 1 + Math.floor(Math.random() * 4000), () => 1 + Math.floor(Math.random() * 40)]
    let compared = 0
    for (const recording of loadRecordings()) {
      if (recording.response.status !== 200 || refused.has(recording.file)) continue
      const isShort = recording.response.body.length < byteByByteMax
      for (const sizeOf of isShort ? [...sizes, () => 1] : sizes.slice(0, 1)) {
        const reading = read(recording, sizeOf)
        if (reading === undefined) continue
        const expected = recording.expected_normalised
        if (expected !== null && expected !== undefined) {
          const isDrawn = reading.flags.includes('drawing_uncounted')
          const isCounted = isDrawn ? isOf('(request model)') : undefined
          t.same(
            normaliseUsage(reading, comparableUsage(expected), isCounted),
            comparableUsage(expected),
            recording.file,
          )
          const byModel = (expected['by_model'] ?? {}) as Readonly<Record<string, Expected>>
          for (const [model, share] of Object.entries(byModel))
            t.same(normaliseUsage(reading, share, isOf(model)), share, recording.file)
          const searches = ((expected['server_tools'] ?? {}) as Expected)['web_search_requests'] ?? 0
          if ('server_tools' in expected) t.equal(sumMeters(reading, ['searches']), searches, recording.file)
          t.same(reading.flags, odd[recording.file] ?? [], recording.file)
        }
        if (recording.expected_usage === null) t.equal(reading.raw, undefined, recording.file)
        else t.same(JSON.parse(reading.raw ?? 'null'), expectedRawUsage(recording), recording.file)
        compared += 1
      }
    }
    t.ok(compared > 500, `${compared} readings`)
  },
)

await t.test(
  'payloads without framing add up to the sums calculated by hand',
  { skip: recordingsSkip },
  async t => {
    let compared = 0
    for (const recording of loadRecordings()) {
      const expected = payloads[recording.file.replace(/^payload-only\/|\.json$/g, '')]
      if (expected === undefined) continue
      for (const size of [1, 100_000]) {
        const reading = read(recording, () => size)
        if (reading === undefined) continue
        const all = [...inputMeters, ...outputMeters]
        const others = reading.lines.filter(line => line.model !== undefined)
        const otherUnits = others.length === 0 ? undefined : sumMeters({ ...reading, lines: others }, all)
        t.same(
          [sumMeters(reading, inputMeters), sumMeters(reading, outputMeters), otherUnits],
          [expected[0], expected[1], expected[2]],
          recording.file,
        )
        t.equal(reading.isTerminal, true, recording.file)
      }
      compared += 1
    }
    t.equal(compared, Object.keys(payloads).length)
  },
)
