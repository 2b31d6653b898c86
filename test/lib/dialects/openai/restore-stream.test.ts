import fc from 'fast-check'
import t from 'tap'
import { StreamRestorer } from '../../../../lib/dialects/openai/restore-stream.ts'

function restore(text: string, sizes: readonly number[] = [text.length]): string {
  const restorer = new StreamRestorer()
  const bytes = Buffer.from(text)
  const out: Buffer[] = []
  let position = 0
  for (let index = 0; position < bytes.length; index += 1) {
    const size = Math.max(1, sizes[index % sizes.length] ?? 1)
    out.push(Buffer.from(restorer.push(bytes.subarray(position, position + size))))
    position += size
  }
  out.push(restorer.end())
  return Buffer.concat(out).toString()
}

const usage = '{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}'
const delta = (members: string): string =>
  `data: {"id":"c","choices":[{"index":0,"delta":{"content":"é \\"usage\\":null"}}]${members},"obfuscation":"x1"}`
const extra = `data: {"id":"c","choices":[],"usage":${usage}}`

/** The same stream with and without the members that a provider adds for `include_usage`. */
const samples: readonly { readonly with: string; readonly without: string }[] = [
  { with: `${delta(',"usage":null')}\n\n`, without: `${delta('')}\n\n` },
  { with: `${extra}\n\n`, without: '' },
  { with: `: ping\n${extra}\n: after\n\n`, without: ': ping\n: after\n' },
  { with: ': keep-alive\n\n', without: ': keep-alive\n\n' },
  { with: 'data: [DONE]\n\n', without: 'data: [DONE]\n\n' },
  { with: 'data: {"usage":null,"choices":[]}\n\n', without: 'data: {"choices":[]}\n\n' },
  { with: 'data: {"choices":[] , "usage" : null }\n\n', without: 'data: {"choices":[]  }\n\n' },
  {
    with: `data: {"choices":[{"delta":{}}],"usage":${usage}}\n\n`,
    without: `data: {"choices":[{"delta":{}}],"usage":${usage}}\n\n`,
  },
  {
    with: 'data: {"error":{"message":"usage"},"usage":{}}\n\n',
    without: 'data: {"error":{"message":"usage"},"usage":{}}\n\n',
  },
  { with: 'event: error\ndata: not json "usage"\n\n', without: 'event: error\ndata: not json "usage"\n\n' },
]

await t.test('the members that include_usage added are removed, and every other byte stays', async t => {
  for (const sample of samples) t.equal(restore(sample.with), sample.without)
  const whole = samples.map(sample => sample.with).join('')
  t.equal(restore(whole), samples.map(sample => sample.without).join(''))
})

await t.test('line ends of any kind are kept', async t => {
  for (const end of ['\r\n', '\r']) {
    const withEnds = (text: string): string => text.replaceAll('\n', end)
    for (const sample of samples) t.equal(restore(withEnds(sample.with)), withEnds(sample.without))
  }
})

await t.test('chunk boundaries make no difference', async () => {
  const end = fc.constantFrom('\n', '\r\n', '\r')
  const events = fc.array(fc.nat(samples.length - 1), { minLength: 1, maxLength: 8 })
  const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(events, sizes, end, (indexes, chunkSizes, lineEnd) => {
      const text = (kind: 'with' | 'without'): string =>
        indexes
          .map(index => samples[index]?.[kind])
          .join('')
          .replaceAll('\n', lineEnd)
      return restore(text('with'), chunkSizes) === text('without')
    }),
    { numRuns: 300 },
  )
})

await t.test('an event is passed on with the chunk that completes it', async t => {
  const restorer = new StreamRestorer()
  t.equal(restorer.push(Buffer.from('data: {"a"')).length, 0)
  t.equal(restorer.push(Buffer.from(':1}\n\ndata: ')).toString(), 'data: {"a":1}\n\n')
  t.equal(restorer.push(Buffer.from('2\r\n\r\n')).toString(), 'data: 2\r\n\r\n')
})

await t.test('an incomplete event passes unchanged at the end, except an extra usage chunk', async t => {
  t.equal(restore('data: {"choices":[],"usage"'), 'data: {"choices":[],"usage"')
  t.equal(restore(extra), '')
})

await t.test('a stream without line ends is not held back for ever', async t => {
  const restorer = new StreamRestorer()
  const chunk = Buffer.alloc(1_048_576, 'a')
  let bytes = 0
  for (let index = 0; index < 8; index += 1) bytes += restorer.push(chunk).length
  t.equal(bytes, 8 * chunk.length)
  t.equal(restorer.end().length, 0)
})
