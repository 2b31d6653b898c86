import fc from 'fast-check'
import t from 'tap'
import { chat } from '../../../lib/dialects/openai/chat.ts'
import { ResponseMeter } from '../../../lib/metering/response-meter.ts'
import { sliceTokens } from '../../../lib/metering/exchange-cost.ts'
import type { UsageReading } from '../../../lib/money/usage.ts'
import { eventStream, noFacts } from '../dialects/read-response.ts'

interface Observed {
  /** The readings that the grower received, in order. */
  readonly readings: UsageReading[]
  readonly meter: ResponseMeter
}

/** A meter of a streamed chat whose hold has room for `aheadTokens`. */
function meterWith(aheadTokens: number, runsTools = false): Observed {
  const facts = { ...noFacts, isStreaming: true }
  const reader = chat.readUsage?.(
    { status: 200, contentType: 'text/event-stream' },
    { providerKind: 'openai', facts },
  )
  if (reader === undefined) throw new Error('chat has no reader')
  const exchange = { hasClientLeft: false, holdBack: () => undefined }
  const options = { recordObject: async () => undefined, namesObjects: false, runsTools }
  const meter = new ResponseMeter(exchange, reader, undefined, options)
  const readings: UsageReading[] = []
  meter.grower = { aheadTokens, onProgress: reading => void readings.push(reading) }
  return { readings, meter }
}

const delta = (content: string): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
})
const usage = { prompt_tokens: 7, completion_tokens: 9, total_tokens: 16 }
const end = { id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'm', choices: [], usage }

/** Feeds the bytes in pieces of the given lengths, repeated in turn. */
function feed(meter: ResponseMeter, bytes: Buffer, lengths: readonly number[]): void {
  for (let at = 0, index = 0; at < bytes.length; index += 1) {
    const next = at + (lengths[index % lengths.length] ?? 1)
    meter.onData(bytes.subarray(at, next))
    at = next
  }
}

await t.test('gathered chunks read the same as chunks read at once, wherever they are cut', async t => {
  const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { maxLength: 80 })
  const lengths = fc.array(fc.integer({ min: 1, max: 1500 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(texts, lengths, fc.boolean(), (contents, cuts, isWhole) => {
      const events = [...contents.map(delta), ...(isWhole ? [end, '[DONE]'] : [])]
      const bytes = Buffer.from(eventStream(...events))
      const [gathered, direct] = [meterWith(sliceTokens), meterWith(0)]
      for (const { meter } of [gathered, direct]) {
        feed(meter, bytes, cuts)
        meter.end()
      }
      t.same(gathered.meter.reading, direct.meter.reading)
    }),
  )
})

await t.test('a response is terminal as soon as its last event has passed', async t => {
  const { meter } = meterWith(sliceTokens)
  for (const event of [...Array.from({ length: 40 }, () => delta('word ')), end, '[DONE]'])
    meter.onData(Buffer.from(eventStream(event)))
  t.equal(meter.isTerminal, true)
  meter.end()
  t.match(meter.reading, { lines: [{ meters: { input: 7, output: 9 } }], outputTextBytes: 200 })
})

await t.test('the text that waits to be read never exceeds the room of the hold', async t => {
  const aheadTokens = (sliceTokens * 3) / 4
  const { readings, meter } = meterWith(aheadTokens)
  let relayedBytes = 0
  for (let index = 0; index < 2000; index += 1) {
    meter.onData(Buffer.from(eventStream(delta('x'.repeat(index % 40)))))
    relayedBytes += index % 40
    const reportedBytes = readings.at(-1)?.outputTextBytes ?? 0
    if (relayedBytes - reportedBytes > aheadTokens)
      t.fail(`${relayedBytes - reportedBytes} bytes are not reported`)
  }
  t.ok(readings.length > 10, `${readings.length} readings`)
})

await t.test('reading the last chunks at the end does not grow the hold, which is settled next', async t => {
  const { readings, meter } = meterWith(sliceTokens)
  let relayedBytes = 0
  const write = (bytes: number): void => {
    meter.onData(Buffer.from(eventStream(delta('x'.repeat(bytes)))))
    relayedBytes += bytes
  }
  while (readings.length < 2) write(40)
  // Enough text for another reading, all of which waits.
  for (let index = 0; index < 4; index += 1) write(340)
  t.equal(readings.length, 2)
  meter.end()
  t.equal(readings.length, 2)
  t.equal(meter.reading?.outputTextBytes, relayedBytes, 'all text was read')
})

await t.test('while the provider may run tools, each event is read at once', async t => {
  const { readings, meter } = meterWith(sliceTokens, true)
  let relayedBytes = 0
  for (let index = 0; index < 500; index += 1) {
    meter.onData(Buffer.from(eventStream(delta('x'.repeat(40)))))
    relayedBytes += 40
    const reportedBytes = readings.at(-1)?.outputTextBytes ?? 0
    if (relayedBytes - reportedBytes > sliceTokens / 2)
      t.fail(`${relayedBytes - reportedBytes} bytes are not reported`)
  }
  t.ok(readings.length > 15, `${readings.length} readings`)
})
