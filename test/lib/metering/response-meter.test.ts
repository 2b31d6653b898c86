import fc from 'fast-check'
import t from 'tap'
import { chat } from '../../../lib/dialects/openai/chat.ts'
import { ResponseMeter } from '../../../lib/metering/response-meter.ts'
import { sliceTokens } from '../../../lib/metering/exchange-cost.ts'
import type { UsageReading } from '../../../lib/money/usage.ts'
import { eventStream, noFacts } from '../dialects/read-answer.ts'

interface Told {
  /** What a grower was told, in order. */
  readonly looks: UsageReading[]
  readonly meter: ResponseMeter
}

/** A meter on a streamed chat whose hold has room for so many tokens. */
function meterWith(aheadTokens: number, runsTools = false): Told {
  const facts = { ...noFacts, isStreaming: true }
  const reader = chat.readUsage?.(
    { status: 200, contentType: 'text/event-stream' },
    { providerKind: 'openai', facts },
  )
  if (reader === undefined) throw new Error('a chat is read')
  const exchange = { hasClientLeft: false, holdBack: () => undefined }
  const options = { recordObject: async () => undefined, namesObjects: false, runsTools }
  const meter = new ResponseMeter(exchange, reader, undefined, options)
  const looks: UsageReading[] = []
  meter.grower = { aheadTokens, onProgress: reading => void looks.push(reading) }
  return { looks, meter }
}

const delta = (content: string): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
})
const usage = { prompt_tokens: 7, completion_tokens: 9, total_tokens: 16 }
const end = { id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'm', choices: [], usage }

/** Feeds the bytes in pieces, cut wherever the lengths say, over and over. */
function feed(meter: ResponseMeter, bytes: Buffer, lengths: readonly number[]): void {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const next = at + (lengths[turn % lengths.length] ?? 1)
    meter.onData(bytes.subarray(at, next))
    at = next
  }
}

await t.test('what is gathered reads like what is read as it comes, wherever it is cut', async t => {
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

await t.test('a client that leaves behind the last event has had the whole answer', async t => {
  const { meter } = meterWith(sliceTokens)
  for (const event of [...Array.from({ length: 40 }, () => delta('word ')), end, '[DONE]'])
    meter.onData(Buffer.from(eventStream(event)))
  t.equal(meter.isTerminal, true)
  meter.end()
  t.match(meter.reading, { lines: [{ meters: { input: 7, output: 9 } }], outputTextBytes: 200 })
})

await t.test('no more text waits to be read than the hold has room for', async t => {
  const aheadTokens = (sliceTokens * 3) / 4
  const { looks, meter } = meterWith(aheadTokens)
  let come = 0
  for (let index = 0; index < 2000; index += 1) {
    meter.onData(Buffer.from(eventStream(delta('x'.repeat(index % 40)))))
    come += index % 40
    const told = looks.at(-1)?.outputTextBytes ?? 0
    if (come - told > aheadTokens) t.fail(`${come - told} bytes are not told of`)
  }
  t.ok(looks.length > 10, `${looks.length} looks`)
})

await t.test('what is read when an answer has ended has no hold grow that is settled next', async t => {
  const { looks, meter } = meterWith(sliceTokens)
  let come = 0
  const write = (bytes: number): void => {
    meter.onData(Buffer.from(eventStream(delta('x'.repeat(bytes)))))
    come += bytes
  }
  while (looks.length < 2) write(40)
  // Enough text for another look, all of which waits.
  for (let index = 0; index < 4; index += 1) write(340)
  t.equal(looks.length, 2)
  meter.end()
  t.equal(looks.length, 2)
  t.equal(meter.reading?.outputTextBytes, come, 'all of it was read')
})

await t.test('where the provider may run tools, each event is read as it comes', async t => {
  const { looks, meter } = meterWith(sliceTokens, true)
  let come = 0
  for (let index = 0; index < 500; index += 1) {
    meter.onData(Buffer.from(eventStream(delta('x'.repeat(40)))))
    come += 40
    const told = looks.at(-1)?.outputTextBytes ?? 0
    if (come - told > sliceTokens / 2) t.fail(`${come - told} bytes are not told of`)
  }
  t.ok(looks.length > 15, `${looks.length} looks`)
})
