import t, { type Test } from 'tap'
import { callConfig, dialectCalls, providerCredential, type DialectCall } from '../fixtures/dialect-call.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { headLines, startRawUpstream, type RawUpstream, type SeenRequest } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai, anthropic, google] = dialectCalls as readonly [DialectCall, DialectCall, DialectCall]

interface Started {
  readonly upstream: RawUpstream
  readonly gateway: TestGateway
  readonly ask: (
    call: DialectCall,
    headers: readonly string[],
  ) => Promise<{ seen: SeenRequest; answer: ClientAnswer }>
}

async function start(
  t: Test,
  answerHeaders: readonly string[] = [],
  sections: ConfigSections = {},
): Promise<Started> {
  const upstream = await startRawUpstream(t, () => ({
    pieces: [headLines(200, [...answerHeaders, 'Content-Length', '2']), Buffer.from('{}')],
  }))
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, sections) })
  return {
    upstream,
    gateway,
    async ask(call, headers) {
      const answer = await send(gateway.url + call.path(false), { headers, body: call.body(false) })
      return { seen: upstream.requests.at(-1)!, answer }
    },
  }
}

function without(headers: readonly string[], names: readonly string[]): string[] {
  const kept: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    if (!names.includes(headers[index]!.toLowerCase())) kept.push(headers[index]!, headers[index + 1]!)
  }
  return kept
}

/** Headers that an HTTP client adds on every hop by itself. */
const framing = ['host', 'connection', 'content-length']

await t.test('request headers keep their case, order, duplicates and bytes', async t => {
  const { ask, gateway } = await start(t)
  const own = [
    'X-Stainless-Lang',
    'js',
    'x-dup',
    '1',
    'Anthropic-Beta',
    'a',
    'X-DUP',
    '2',
    'anthropic-beta',
    'b,c',
    'x-latin',
    'caf\u00e9 \u00a0',
    'x-empty',
    '',
    'constructor',
    'x',
    'Accept-Encoding',
    'gzip, br, zstd',
    'USER-AGENT',
    'odd/1.0 (x; y)',
  ]

  const { seen } = await ask(openai, ['Authorization', `Bearer ${gateway.key}`, ...own])

  t.same(
    without(seen.headers, [...framing, 'authorization']),
    own.map(part => part.trim()),
  )
  t.same(
    seen.headers.filter((_, index) => seen.headers[index - 1]?.toLowerCase() === 'authorization'),
    [`Bearer ${providerCredential}`],
    'one credential, and it is the provider\u2019s',
  )
})

await t.test('headers of the client, its key or this hop do not reach the provider', async t => {
  const { ask, gateway, upstream } = await start(t)
  const dropped = {
    'x-api-key': gateway.key,
    'x-goog-api-key': gateway.key,
    'api-key': gateway.key,
    cookie: 'session=client-cookie',
    'openai-organization': 'org-client',
    'openai-project': 'proj-client',
    'x-goog-user-project': 'project-client',
    'proxy-authorization': 'Basic client',
    forwarded: 'for=192.0.2.1',
    via: '1.1 client',
    'x-forwarded-for': '192.0.2.1',
    'x-forwarded-host': 'client.example',
    'x-real-ip': '192.0.2.1',
    'cf-connecting-ip': '192.0.2.1',
    te: 'trailers',
    'keep-alive': 'timeout=5',
    'proxy-connection': 'keep-alive',
    upgrade: 'h2c',
    'http2-settings': 'AAMAAABk',
    'X-Named': 'by connection',
  }

  for (const call of dialectCalls) {
    const { seen, answer } = await ask(call, [
      'authorization',
      `Bearer ${gateway.key}`,
      'Connection',
      'close, x-named, HTTP2-Settings',
      'x-kept',
      'yes',
      ...Object.entries(dropped).flat(),
    ])
    t.equal(answer.status, 200, answer.body.toString())
    const credential = [call.credentialHeader]
    const expected =
      call === anthropic ? ['x-kept', 'yes', 'anthropic-version', '2023-06-01'] : ['x-kept', 'yes']
    t.same(without(seen.headers, [...framing, ...credential]), expected, call.name)
    t.notMatch(without(seen.headers, []).join('\n').toLowerCase(), 'x-named')
  }
  t.notMatch(Buffer.concat(upstream.received).toString('latin1'), gateway.key)
})

await t.test('the host and the credential are the provider\u2019s', async t => {
  const { ask, gateway, upstream } = await start(t)
  for (const call of dialectCalls) {
    const { seen } = await ask(call, call.keyHeader(gateway.key))
    const value = (name: string): string | undefined =>
      seen.headers[seen.headers.findIndex(header => header.toLowerCase() === name) + 1]
    t.equal(value('host'), new URL(upstream.origin).host)
    t.equal(value(call.credentialHeader)?.replace(/^Bearer /, ''), providerCredential)
  }
})

await t.test(
  'a client sets the version of the messages format in either header; the default is the first version',
  async t => {
    const { ask, gateway } = await start(t)
    const versions = (seen: SeenRequest): string[] =>
      seen.headers.filter((_, index) => /^(anthropic|provider)-version$/i.test(seen.headers[index - 1] ?? ''))
    const key = anthropic.keyHeader(gateway.key)

    t.same(versions((await ask(anthropic, key)).seen), ['2023-06-01'])
    t.same(versions((await ask(anthropic, [...key, 'Anthropic-Version', '2099-01-01'])).seen), ['2099-01-01'])
    t.same(versions((await ask(anthropic, [...key, 'Provider-Version', '2098-01-01'])).seen), ['2098-01-01'])
    t.same(
      versions((await ask(anthropic, [...key, 'provider-version', 'b', 'anthropic-version', 'a'])).seen),
      ['a'],
      'anthropic-version wins',
    )
  },
)

await t.test('response headers keep their case, order, duplicates and bytes', async t => {
  const own = [
    'X-Request-Id',
    'req_provider',
    'Content-Type',
    'application/json',
    'x-dup',
    '1',
    'X-Ratelimit-Remaining-Requests',
    '7',
    'X-DUP',
    '2',
    'Date',
    'Mon, 01 Jan 2024 00:00:00 GMT',
    'x-latin',
    'caf\u00e9',
    'x-empty',
    '',
    'Retry-After',
    '3',
  ]
  const { ask, gateway } = await start(t, own)

  const { answer } = await ask(openai, openai.keyHeader(gateway.key))

  t.same(without(answer.rawHeaders, [...framing, 'x-gateway-request-id', 'keep-alive']), own)
  t.match(answer.headers['x-gateway-request-id'], /^[0-9a-z]{26}$/)
})

await t.test("headers of the provider's account, cookies and hop do not reach the client", async t => {
  const { ask, gateway } = await start(t, [
    'Set-Cookie',
    '__cf_bm=1',
    'set-cookie',
    'b=2',
    'Alt-Svc',
    'h3=":443"',
    'openai-organization',
    'org-ours',
    'openai-project',
    'proj-ours',
    'anthropic-organization-id',
    'ours',
    'Keep-Alive',
    'timeout=77',
    'Connection',
    'keep-alive, x-hop',
    'X-Hop',
    '1',
    'Proxy-Authenticate',
    'Basic',
    'Trailer',
    'x-t',
    'x-gateway-request-id',
    'forged',
    'x-goog-upload-header-x',
    'ours',
    'x-kept',
    'yes',
  ])

  const { answer } = await ask(google, google.keyHeader(gateway.key))

  const names = answer.rawHeaders.filter((_, index) => index % 2 === 0).map(name => name.toLowerCase())
  t.same(
    names.filter(name => !['connection', 'date', 'keep-alive', 'content-length'].includes(name)),
    ['x-kept', 'x-gateway-request-id'],
  )
  t.notMatch(answer.rawHeaders.join('\n'), /forged|timeout=77/)
})

await t.test('only a page of an allowed origin may read the response', async t => {
  const { ask, gateway } = await start(t, [], { cors: { origins: ['https://app.example'] } })
  const key = openai.keyHeader(gateway.key)

  const allowed = await ask(openai, [...key, 'origin', 'https://app.example'])
  const other = await ask(openai, [...key, 'origin', 'https://evil.example'])

  t.equal(allowed.answer.headers['access-control-allow-origin'], 'https://app.example')
  t.equal(other.answer.headers['access-control-allow-origin'], undefined)
})

await t.test("the provider's headers about its own site (CORS, HSTS, reporting) are not relayed", async t => {
  const own = [
    'Access-Control-Allow-Origin',
    '*',
    'access-control-allow-credentials',
    'true',
    'access-control-expose-headers',
    'X-Request-ID',
    'Strict-Transport-Security',
    'max-age=31536000; includeSubDomains; preload',
    'Report-To',
    '{"endpoints":[]}',
    'NEL',
    '{"max_age":604800}',
    'vary',
    'Accept-Encoding',
  ]
  const { ask, gateway } = await start(t, own, { cors: { origins: ['https://app.example'] } })
  const key = openai.keyHeader(gateway.key)

  const { answer: allowed } = await ask(openai, [...key, 'origin', 'https://app.example'])
  const { answer: other } = await ask(openai, [...key, 'origin', 'https://evil.example'])

  const named = ({ rawHeaders }: ClientAnswer, name: RegExp): string[] =>
    rawHeaders.filter((_, index) => name.test(rawHeaders[index - (index % 2)]!))
  t.same(named(allowed, /^access-control-allow/i), ['access-control-allow-origin', 'https://app.example'])
  t.match(named(allowed, /^access-control-expose/i), { 1: /x-goog-upload-url/, length: 2 })
  t.same(named(other, /^access-control|^strict|^report|^nel/i), [])
  t.same(named(other, /^vary/), ['vary', 'Accept-Encoding'])
})

await t.test('a gateway key in the query or in another header is not forwarded', async t => {
  const { upstream, gateway } = await start(t)
  const strays = [`?KEY=${gateway.key}&a=1`, `?a=1&api_key=${gateway.key.replace('-', '%2D')}`, '?a=1']
  for (const query of strays) {
    const answer = await send(gateway.url + openai.path(false) + query, {
      headers: [
        ...openai.keyHeader(gateway.key),
        'x-proxy-auth',
        `Bearer ${gateway.key}`,
        'x-kept',
        'gw-1 is up',
      ],
      body: openai.body(false),
    })
    t.equal(answer.status, 200)
    t.equal(upstream.requests.at(-1)?.path, `${openai.path(false)}?a=1`)
    t.ok(upstream.requests.at(-1)?.headers.includes('gw-1 is up'))
  }
  t.notMatch(Buffer.concat(upstream.received).toString(), gateway.key.slice(3))
  t.notMatch(gateway.logLines.join(''), gateway.key.slice(3), 'nor is it in the log')
})
