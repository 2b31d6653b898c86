import fc from 'fast-check'
import t from 'tap'
import { callConfig } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { chunked, headLines, startRawUpstream, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

/** The form in which a provider writes its stream. */
interface Style {
  readonly lineEnd: string
  /** The space after colons and commas of its JSON, which Python's serialiser writes. */
  readonly gap: string
  readonly dataField: string
  /** Where a chunk has `"usage":null`, which some providers write, before the choices or after. */
  readonly nullUsage: 'absent' | 'last' | 'middle'
  readonly comments: readonly boolean[]
  readonly hasDone: boolean
}

const style: fc.Arbitrary<Style> = fc.record({
  lineEnd: fc.constantFrom('\n', '\r\n'),
  gap: fc.constantFrom('', ' '),
  dataField: fc.constantFrom('data: ', 'data:'),
  nullUsage: fc.constantFrom('absent', 'last', 'middle'),
  comments: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
  hasDone: fc.boolean(),
})

const words = fc.array(
  fc.constantFrom(
    'Once',
    ' upon',
    ' "usage":null',
    ',"usage":null',
    'für',
    '😀',
    '\n\n',
    'data: [DONE]',
    '}',
  ),
  { minLength: 1, maxLength: 8 },
)

function jsonText(members: readonly (readonly [string, string])[], gap: string): string {
  return `{${members.map(([key, value]) => `"${key}":${gap}${value}`).join(`,${gap}`)}}`
}

/** The stream, with or without the parts that `include_usage` adds. */
function streamText(style: Style, texts: readonly string[], hasUsage: boolean): string {
  const { lineEnd, gap, dataField, nullUsage, comments, hasDone } = style
  const event = (members: readonly (readonly [string, string])[], n: number): string =>
    `${comments[n % comments.length] === true ? `: keep-alive${lineEnd}${lineEnd}` : ''}${dataField}${jsonText(members, gap)}${lineEnd}${lineEnd}`
  const base = [
    ['id', '"c-1"'],
    ['object', '"chat.completion.chunk"'],
  ] as const
  let text = ''
  for (const [n, words] of texts.entries()) {
    const choices = ['choices', `[{"index":0,"delta":{"content":${JSON.stringify(words)}}}]`] as const
    const nothing = ['usage', 'null'] as const
    const members =
      !hasUsage || nullUsage === 'absent'
        ? [...base, choices]
        : nullUsage === 'last'
          ? [...base, choices, nothing]
          : [...base, nothing, choices]
    text += event(members, n)
  }
  if (hasUsage) {
    const usage = ['usage', '{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46}'] as const
    text += `${dataField}${jsonText([...base, ['choices', '[]'], usage], gap)}${lineEnd}${lineEnd}`
  }
  return hasDone ? `${text}data: [DONE]${lineEnd}${lineEnd}` : text
}

await t.test('a client that did not request usage receives the stream without the added parts', async t => {
  let next: RawAnswer = { pieces: [] }
  const upstream = await startRawUpstream(t, () => next)
  const gateway = await startTestGateway(t, {
    config: callConfig(upstream.origin, { streamUsage: 'inject' }),
    rub: 1_000_000,
  })
  const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 })

  await fc.assert(
    fc.asyncProperty(style, words, sizes, fc.boolean(), async (style, texts, sizes, isRequested) => {
      const bytes = Buffer.from(streamText(style, texts, true))
      const pieces: Buffer[] = []
      for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1
        pieces.push(bytes.subarray(start, start + size))
        start += size
      }
      const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])
      next = { pieces: [head, ...chunked(pieces)] }
      const answer = await send(`${gateway.url}/v1/chat/completions`, {
        headers: ['authorization', `Bearer ${gateway.key}`],
        body: `{"model":"m","stream":true${isRequested ? ',"stream_options":{"include_usage":true}' : ''}}`,
      })
      const expected = streamText(style, texts, isRequested)
      if (!answer.isWhole || answer.body.toString() !== expected)
        throw new Error(`expected ${JSON.stringify(expected)}, got ${JSON.stringify(answer.body.toString())}`)
    }),
    { numRuns: 100 },
  )

  const charges = await gateway.charges()
  t.equal(charges.length, 100)
  t.ok(charges.every(charge => charge.usageSource === 'provider' && charge.usage['output'] === 34))
  t.same(await gateway.breaches(), [])
})

await t.test('a stream compressed in spite of accept-encoding: identity is relayed unchanged', async t => {
  const body = Buffer.from('not really gzip')
  const upstream = await startRawUpstream(t, () => ({
    pieces: [
      headLines(200, [
        'content-type',
        'text/event-stream',
        'content-encoding',
        'gzip',
        'content-length',
        String(body.length),
      ]),
      body,
    ],
  }))
  const gateway = await startTestGateway(t, {
    config: callConfig(upstream.origin, { streamUsage: 'inject' }),
  })

  const answer = await send(`${gateway.url}/v1/chat/completions`, {
    headers: ['authorization', `Bearer ${gateway.key}`],
    body: '{"model":"m","stream":true}',
  })

  t.same(answer.body, body)
  t.ok(answer.isWhole)
})
