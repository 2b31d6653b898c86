import fc from 'fast-check'
import t from 'tap'
import { TextSample } from '../../../lib/dialects/text-sample.ts'
import { SampledTokens, seenResponse } from '../../../lib/metering/place-hold.ts'
import type { UsageReading } from '../../../lib/money/usage.ts'

const text = fc.oneof(
  fc.constantFrom(
    '',
    'the fox ',
    'Привет, ',
    '0123',
    '{"a":[',
    '喂',
    '\u0420',
    'x'.repeat(9000),
    'й'.repeat(5000),
  ),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
)
const step = fc.record({
  text,
  kind: fc.constantFrom('plain', 'plain', 'bytes', 'escaped'),
  isRead: fc.boolean(),
})

function readingOf(sample: TextSample, bytes: number): UsageReading {
  const { text: textSample } = sample
  return {
    lines: [],
    isTerminal: false,
    hasError: false,
    hasOutput: true,
    outputTextBytes: bytes,
    unmeteredTextBytes: bytes,
    ...(textSample !== undefined && { textSample }),
    flags: [],
  }
}

await t.test('counting a text while it grows gives the same tokens as counting it once', async () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), steps => {
      const sample = new TextSample()
      const sampled = new SampledTokens()
      let bytes = 0
      for (const { text, kind, isRead } of steps) {
        const piece = Buffer.from(text)
        if (kind === 'plain') sample.add(text)
        else if (kind === 'bytes') sample.addBytes(piece, 0, piece.length)
        else sample.addEscaped(piece)
        bytes += piece.length
        if (!isRead) continue
        const reading = readingOf(sample, bytes)
        const [grown, once] = [seenResponse(reading, sampled), seenResponse(reading)]
        if (JSON.stringify(grown) !== JSON.stringify(once)) return false
      }
      return true
    }),
    { numRuns: 500 },
  )
})
