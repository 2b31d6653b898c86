import { gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { send } from '../fixtures/http-client.ts'
import { oddJson, oddObject, oddString } from '../fixtures/odd-json.ts'
import {
  plainAnswer,
  startRawUpstream,
  type RawUpstream,
  type SeenRequest,
} from '../fixtures/raw-upstream.ts'
import { sha256 } from '../fixtures/recorded-exchange.ts'
import { startTestGateway, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'

const runs = { numRuns: 60 }

async function start(
  t: Test,
  provider: Readonly<Record<string, unknown>> = {},
  models: ConfigSections = {},
): Promise<{ upstream: RawUpstream; gateway: TestGateway }> {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], dialectCalls[0]!.document),
  )
  const config = callConfig(upstream.origin, provider)
  const gateway = await startTestGateway(t, {
    config: { ...config, models: { ...(config['models'] as object), ...models } },
    rub: 1_000_000,
  })
  return { upstream, gateway }
}

interface Sent {
  readonly path: string
  readonly headers: readonly string[]
  readonly body: Buffer | string
}

/** Sends a request, and returns what the upstream received. */
async function forwarded(gateway: TestGateway, upstream: RawUpstream, sent: Sent): Promise<SeenRequest> {
  const before = upstream.requests.length
  const answer = await send(gateway.url + sent.path, {
    headers: ['authorization', `Bearer ${gateway.key}`, ...sent.headers],
    body: sent.body,
  })
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body.toString()}`)
  if (upstream.requests.length !== before + 1) throw new Error('the upstream did not receive one request')
  return upstream.requests.at(-1)!
}

/** Valid bodies of a dialect, with odd JSON wherever no gate reads. */
function oddBodies(call: DialectCall, model: string): fc.Arbitrary<string> {
  const text = oddString
  if (call.name === 'google') {
    return fc.tuple(text, oddJson, oddJson).chain(([words, args, schema]) =>
      oddObject({
        contents: `[{"parts":[{"text":${words}},{"functionCall":{"name":"f","args":${args}}}]}]`,
        generationConfig: `{"maxOutputTokens":9,"responseSchema":${schema}}`,
      }),
    )
  }
  return fc
    .tuple(text, oddJson, fc.constantFrom('model', String.raw`mod\u0065l`), fc.boolean())
    .chain(([words, schema, modelKey, isStreaming]) =>
      oddObject({
        [modelKey]: JSON.stringify(model),
        max_tokens: '9',
        stream: String(isStreaming),
        messages: `[ {"role":"user" ,"content":${words}}\r\n]`,
        tools: `[{"type":"function","function":{"name":"f","parameters":${schema}}}]`,
      }),
    )
}

for (const call of dialectCalls) {
  await t.test(`${call.name}: odd JSON arrives byte for byte`, async t => {
    const { gateway, upstream } = await start(t)

    await fc.assert(
      fc.asyncProperty(oddBodies(call, 'test-model'), async text => {
        const body = Buffer.from(text)
        const seen = await forwarded(gateway, upstream, {
          path: call.path(false),
          headers: ['content-type', 'application/json'],
          body,
        })
        if (sha256(seen.body) !== sha256(body)) throw new Error(`arrived as ${seen.body.toString()}`)
      }),
      runs,
    )
    t.same(await gateway.breaches(), [])
  })

  await t.test(`${call.name}: an alias changes only the bytes of the model's name`, async t => {
    const { gateway, upstream } = await start(t, {}, { fast: { alias: 'models/target-1' } })

    await fc.assert(
      fc.asyncProperty(oddBodies(call, 'fast'), async text => {
        const seen = await forwarded(gateway, upstream, {
          path: call.path(false).replace('test-model', 'fast'),
          headers: ['content-type', 'application/json'],
          body: text,
        })
        const expected = text.replace(/"fast"/, '"models/target-1"')
        if (seen.body.toString() !== expected) throw new Error(`arrived as ${seen.body.toString()}`)
        if (call.name === 'google' && seen.path !== '/v1beta/models/models/target-1:generateContent')
          throw new Error(seen.path)
      }),
      { numRuns: 30 },
    )
    t.pass('every generated body')
  })
}

await t.test('bytes of a form that are not UTF-8 arrive unchanged', async t => {
  const { gateway, upstream } = await start(t)
  const field = (name: string, value: string): string =>
    `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}`
  const body = Buffer.concat([
    Buffer.from(`${field('model', 'test-model')}\r\n${field('prompt', '')}`),
    Buffer.from([0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80]),
    Buffer.from('\r\n--b--\r\n'),
  ])

  const seen = await forwarded(gateway, upstream, {
    path: '/v1/audio/transcriptions',
    headers: ['content-type', 'multipart/form-data; boundary=b'],
    body,
  })

  t.same(seen.body, body)
})

const boundary = fc
  .array(fc.constantFrom(..."09azAZ'()+_,-./:=?"), { minLength: 1, maxLength: 60 })
  .map(characters => characters.join(''))

const forms = fc
  .tuple(
    boundary,
    fc.uint8Array({ maxLength: 400 }),
    fc.constantFrom('', 'preamble\r\n', '\r\n'),
    fc.boolean(),
  )
  .map(([mark, file, preamble, isQuoted]) => {
    const head = `content-disposition: form-data; name=`
    const body = Buffer.concat([
      Buffer.from(`${preamble}--${mark}\r\n${head}"model"\r\n\r\nfast\r\n`),
      Buffer.from(`--${mark}\r\n${head}"file"; filename="ключ \\".wav"\r\nX-Odd: 1\r\n\r\n`),
      Buffer.from(file),
      Buffer.from(`\r\n--${mark}\r\n${head}prompt\r\n\r\nfast "model"\r\n--${mark}--\r\n`),
    ])
    const quoted = isQuoted || /[()<>@,;:\\"/[\]?=]/.test(mark)
    return { body, contentType: `multipart/form-data; boundary=${quoted ? `"${mark}"` : mark}` }
  })

await t.test('forms with odd boundaries arrive byte for byte, except for the alias', async t => {
  const { gateway, upstream } = await start(t)
  const aliased = await start(t, {}, { fast: { alias: 'target-1' } })

  await fc.assert(
    fc.asyncProperty(forms, async ({ body, contentType }) => {
      const request = { path: '/v1/audio/transcriptions', headers: ['Content-Type', contentType], body }
      const seen = await forwarded(gateway, upstream, request)
      if (!seen.body.equals(body)) throw new Error(`arrived as ${seen.body.toString()}`)
      const spliced = await forwarded(aliased.gateway, aliased.upstream, request)
      const at = body.indexOf('fast')
      const expected = Buffer.concat([body.subarray(0, at), Buffer.from('target-1'), body.subarray(at + 4)])
      if (!spliced.body.equals(expected)) throw new Error(`arrived as ${spliced.body.toString()}`)
    }),
    runs,
  )
  t.pass('every generated form')
})

await t.test(
  "a compressed body is forwarded unchanged and still read, or decoded to splice in an alias's target",
  async t => {
    const { gateway, upstream } = await start(t, {}, { fast: { alias: 'target-1' } })
    const text = JSON.stringify({
      model: 'test-model',
      messages: [{ role: 'user', content: 'a'.repeat(5000) }],
    })
    for (const [encoding, body] of [
      ['gzip', gzipSync(text)],
      ['zstd', zstdCompressSync(text)],
    ] as const) {
      const seen = await forwarded(gateway, upstream, {
        path: '/v1/chat/completions',
        headers: ['content-type', 'application/json', 'Content-Encoding', encoding],
        body,
      })
      t.ok(seen.body.equals(body), encoding)
      t.match(seen.headers.join('\n'), `Content-Encoding\n${encoding}`)
    }
    t.match(
      (await gateway.charges()).map(charge => charge.model),
      ['test-model', 'test-model'],
      'the model inside was found',
    )

    const spliced = await forwarded(gateway, upstream, {
      path: '/v1/chat/completions',
      headers: ['content-type', 'application/json', 'content-encoding', 'zstd'],
      body: zstdCompressSync(text.replace('test-model', 'fast')),
    })
    t.equal(
      spliced.body.toString(),
      text.replace('test-model', 'target-1'),
      'decoded where it contains an alias',
    )
    t.notMatch(spliced.headers.join('\n').toLowerCase(), 'content-encoding')
    t.throws(() => zstdDecompressSync(spliced.body))
  },
)

await t.test('include_usage is added only to streams whose request does not ask for usage', async t => {
  const { gateway, upstream } = await start(t, { streamUsage: 'inject' })
  const cases: [string, string][] = [
    [
      '{"model":"m","stream":true ,"n":1}',
      '{"model":"m","stream":true,"stream_options":{"include_usage":true} ,"n":1}',
    ],
    [
      '{"stream_options":null,"stream":true,"model":"m"}',
      '{"stream_options":{"include_usage":true},"stream":true,"model":"m"}',
    ],
    [
      '{"model":"m","stream":true,"stream_options":{ }}',
      '{"model":"m","stream":true,"stream_options":{"include_usage":true }}',
    ],
    [
      '{"model":"m","stream":true,"stream_options":{"include_usage" : false,"x":1}}',
      '{"model":"m","stream":true,"stream_options":{"include_usage" : true,"x":1}}',
    ],
    [
      '{"model":"m","stream":true,"stream_options":{"x":1}}',
      '{"model":"m","stream":true,"stream_options":{"include_usage":true,"x":1}}',
    ],
  ]
  for (const [sent, expected] of cases) {
    const seen = await forwarded(gateway, upstream, {
      path: '/v1/chat/completions',
      headers: ['Accept-Encoding', 'gzip, br'],
      body: sent,
    })
    t.equal(seen.body.toString(), expected)
    t.match(
      seen.headers.join('\n').toLowerCase(),
      'accept-encoding\nidentity',
      'a stream that is restored is not compressed',
    )
    t.notMatch(seen.headers.join('\n'), 'gzip')
  }
  const untouched = [
    '{"model":"m","stream":false}',
    '{"model":"m","stream":true,"stream_options":{"include_usage":true}}',
    '{"model":"m","stream_options":null}',
  ]
  for (const body of untouched) {
    const seen = await forwarded(gateway, upstream, {
      path: '/v1/chat/completions',
      headers: ['Accept-Encoding', 'gzip, br'],
      body,
    })
    t.equal(seen.body.toString(), body)
    t.match(seen.headers.join('\n'), 'Accept-Encoding\ngzip, br')
  }
})
