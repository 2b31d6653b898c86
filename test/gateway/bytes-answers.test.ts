import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { oddObject } from '../fixtures/odd-json.ts'
import {
  chunked,
  headLines,
  plainAnswer,
  startRawUpstream,
  type RawAnswer,
} from '../fixtures/raw-upstream.ts'
import { sha256 } from '../fixtures/recorded-exchange.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

const encoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  identity: bytes => bytes,
  gzip: bytes => gzipSync(bytes),
  br: bytes => brotliCompressSync(bytes),
  zstd: bytes => zstdCompressSync(bytes),
  deflate: bytes => deflateSync(bytes),
  'X-Made-Up': bytes => Buffer.from(bytes.map(byte => byte ^ 0x55)),
  // Truncated: the tap cannot decode it, and the client still receives it.
  'gzip ': bytes => gzipSync(bytes).subarray(0, -3),
}

const bytesOf = (content: string | Uint8Array): Buffer => Buffer.from(content)

type Framing = 'length' | 'chunked' | 'close'

interface GeneratedAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: Buffer
  readonly encoding: string
  readonly framing: Framing
  readonly sizes: readonly number[]
}

const lineEnd = fc.constantFrom('\n', '\r\n', '\r')

/** The dialect's stream with other line ends, comments and unknown events. */
function streams(call: DialectCall): fc.Arbitrary<string> {
  const noise = fc.constantFrom(
    '',
    ': keep-alive\n\n',
    'id: 7\nretry: 10\n\n',
    'data:{"x":1e400}\n\n',
    '\n',
    'junk\n\n',
  )
  return fc
    .tuple(fc.array(noise, { minLength: 1, maxLength: 5 }), lineEnd, fc.constantFrom('', '\ufeff'))
    .map(([noises, end, mark]) => {
      const text = call.events.map((event, n) => event + (noises[n % noises.length] ?? '')).join('')
      return mark + text.replaceAll('\r\n', '\n').replaceAll('\n', end)
    })
}

function answers(call: DialectCall): fc.Arbitrary<GeneratedAnswer> {
  const { usage, usageMetadata, ...rest } = JSON.parse(call.document) as Record<string, unknown>
  const members = Object.entries({ ...rest, ...(usage === undefined ? { usageMetadata } : { usage }) })
  const document = oddObject(Object.fromEntries(members.map(([key, value]) => [key, JSON.stringify(value)])))
  const body = fc.oneof(
    fc.tuple(
      fc.constantFrom('text/event-stream', 'text/event-stream; charset=utf-8'),
      streams(call).map(bytesOf),
    ),
    fc.tuple(fc.constantFrom('application/json', 'application/json; charset=utf-8'), document.map(bytesOf)),
    fc.tuple(
      fc.constantFrom('application/octet-stream', 'text/html'),
      fc.uint8Array({ maxLength: 3000 }).map(bytesOf),
    ),
  )
  return fc
    .tuple(
      fc.constantFrom(200, 200, 200, 201, 299, 302, 400, 429, 500, 529),
      body,
      fc.constantFrom(...Object.keys(encoders)),
      fc.constantFrom<Framing>('length', 'chunked', 'close'),
      fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 6 }),
    )
    .map(([status, [contentType, bytes], encoding, framing, sizes]) => ({
      status,
      contentType,
      body: (encoders[encoding] as (bytes: Buffer) => Buffer)(bytes),
      encoding,
      framing,
      sizes,
    }))
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1
    pieces.push(bytes.subarray(start, start + size))
    start += size
  }
  return pieces
}

function onTheWire({ status, contentType, body, encoding, framing, sizes }: GeneratedAnswer): RawAnswer {
  const headers = ['Content-Type', contentType]
  if (encoding !== 'identity') headers.push('Content-Encoding', encoding.trim())
  const pieces = cut(body, sizes)
  if (framing === 'length') {
    return { pieces: [headLines(status, [...headers, 'Content-Length', String(body.length)]), ...pieces] }
  }
  if (framing === 'chunked') {
    return { pieces: [headLines(status, [...headers, 'Transfer-Encoding', 'chunked']), ...chunked(pieces)] }
  }
  return { pieces: [headLines(status, [...headers, 'Connection', 'close']), ...pieces], then: 'end' }
}

for (const call of dialectCalls) {
  await t.test(`${call.name}: any response reaches the client byte for byte, with its encoding`, async t => {
    let next: RawAnswer = { pieces: [] }
    const upstream = await startRawUpstream(t, () => next)
    const gateway = await startTestGateway(t, { config: callConfig(upstream.origin), rub: 1_000_000 })
    let successes = 0

    await fc.assert(
      fc.asyncProperty(answers(call), fc.boolean(), async (generated, isStreaming) => {
        next = onTheWire(generated)
        const answer = await send(gateway.url + call.path(isStreaming), {
          headers: [
            ...call.keyHeader(gateway.key),
            'content-type',
            'application/json',
            'accept-encoding',
            'zstd',
          ],
          body: call.body(isStreaming),
        })
        if (!answer.isWhole) throw new Error('the response was cut')
        if (answer.status !== generated.status) throw new Error(`${answer.status}`)
        if (sha256(answer.body) !== sha256(generated.body))
          throw new Error(`arrived as ${answer.body.toString()}`)
        const encoding = generated.encoding === 'identity' ? undefined : generated.encoding.trim()
        if (answer.headers['content-encoding'] !== encoding) throw new Error('another encoding')
        if (answer.headers['content-type'] !== generated.contentType) throw new Error('another type')
        const length = generated.framing === 'length' ? String(generated.body.length) : undefined
        if (answer.headers['content-length'] !== length) throw new Error('another length')
        if (generated.status < 300) successes += 1
      }),
      { numRuns: 100 },
    )

    const charges = await gateway.charges()
    const refusals = charges.filter(({ flags }) => flags.includes('provider_refused'))
    t.equal(charges.length - refusals.length, successes, 'every success has one charge')
    t.ok(
      refusals.every(({ amount }) => amount === '0.000000'),
      'every error has a charge of zero',
    )
    await until(async () => (await gateway.balance()).heldMicros === 0)
    t.same(await gateway.breaches(), [])
  })
}

await t.test('an interim response is not relayed as the final response', async t => {
  const upstream = await startRawUpstream(t, () => ({
    pieces: [
      Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n'),
      Buffer.from('HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'),
    ],
  }))
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })

  const answer = await send(`${gateway.url}/v1/chat/completions`, {
    headers: ['authorization', `Bearer ${gateway.key}`],
    body: dialectCalls[0]!.body(false),
  })

  t.match(answer, { status: 200, isWhole: true })
  t.equal(answer.body.toString(), '{}')
})

await t.test(
  'a response that cannot be decoded is charged by estimate and flagged, also when it is short',
  async t => {
    const upstream = await startRawUpstream(t, () =>
      plainAnswer(200, ['content-type', 'application/json', 'content-encoding', 'x-made-up'], 'Q'),
    )
    const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })

    const chat = dialectCalls[0]!.body(false)
    const rows = [
      ['/v1/chat/completions', chat, ['usage_unreadable', 'reasoning_estimated'], 100, '0.115000'],
      // Three tokens of input; embeddings have no output, so none can be hidden.
      ['/v1/embeddings', '{"model":"test-model","input":"It is sunny"}', ['usage_unreadable'], 0, '0.003000'],
    ] as const
    for (const [path, body, flags, output, amount] of rows) {
      const answer = await send(gateway.url + path, {
        headers: ['authorization', `Bearer ${gateway.key}`],
        body,
      })

      t.match(answer, { status: 200, isWhole: true })
      t.equal(answer.body.toString(), 'Q')
      const charge = await gateway.chargeOf(answer.requestId)
      t.match(charge, { outcome: 'completed', usageSource: 'estimated', usage: { output }, amount }, path)
      t.same(charge?.flags, flags, path)
    }
    t.same(await gateway.breaches(), [])
  },
)
