import t, { type Test } from 'tap'
import { callConfig, dialectCalls, providerCredential, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { send } from '../fixtures/http-client.ts'
import { connectRaw, parseAnswers, sendRaw } from '../fixtures/raw-client.ts'
import {
  chunked,
  headLines,
  plainAnswer,
  startRawUpstream,
  type RawUpstream,
} from '../fixtures/raw-upstream.ts'
import { startTestGateway, until, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai, , google] = dialectCalls as readonly [DialectCall, DialectCall, DialectCall]
const body = openai.body(false)

async function start(
  t: Test,
  sections: ConfigSections = {},
): Promise<{ upstream: RawUpstream; gateway: TestGateway }> {
  const upstream = await startRawUpstream(t, () =>
    plainAnswer(200, ['content-type', 'application/json'], openai.document),
  )
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, {}, sections) })
  return { upstream, gateway }
}

await t.test(
  'a client that waits for 100 Continue receives it, and the provider receives its own credential',
  async t => {
    const { upstream, gateway } = await start(t)
    const client = await connectRaw(t, gateway.url)
    client.socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n` +
        `Expect: 100-Continue\r\ncontent-length: ${body.length}\r\n\r\n`,
    )
    await client.waitFor('\r\n\r\n')
    t.equal(client.received().toString(), 'HTTP/1.1 100 Continue\r\n\r\n')
    t.equal(upstream.requests.length, 0, 'nothing is forwarded before the body')

    client.socket.write(body)
    await until(() => parseAnswers(client.received()).length === 2)

    t.same(
      parseAnswers(client.received()).map(answer => answer.status),
      [100, 200],
    )
    const all = Buffer.concat(upstream.received).toString()
    t.match(all, `Bearer ${providerCredential}`)
    t.notMatch(all, gateway.key)
    t.notMatch(all.toLowerCase(), 'expect')
  },
)

await t.test(
  'a request that is refused by its head receives no 100 Continue, and its body is not read',
  async t => {
    const { upstream, gateway } = await start(t)
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\ncontent-length: 10\r\n`
    const cases: [string, number][] = [
      [`${head}authorization: Bearer gw-wrong\r\nexpect: 100-continue\r\n\r\n`, 401],
      [
        `${head.replace('chat', 'chatter')}authorization: Bearer ${gateway.key}\r\nexpect: 100-continue\r\n\r\n`,
        404,
      ],
      [
        `${head.replace(': 10', ': 999999999999')}authorization: Bearer ${gateway.key}\r\nexpect: 100-continue\r\n\r\n`,
        413,
      ],
      [`${head}authorization: Bearer ${gateway.key}\r\nexpect: 200-maybe\r\n\r\n`, 400],
    ]
    for (const [request, status] of cases) {
      const answers = parseAnswers((await sendRaw(t, gateway.url, request)).bytes)
      t.same(
        answers.map(answer => answer.status),
        [status],
      )
      t.equal(answers[0]?.headers.get('connection'), 'close')
    }
    t.equal(upstream.requests.length, 0)
  },
)

await t.test('OPTIONS is allowed only to pages of the allowed origins', async t => {
  const { upstream, gateway } = await start(t, { cors: { origins: ['https://app.example'] } })
  const ask = (headers: readonly string[]) =>
    send(`${gateway.url}/v1/chat/completions`, { method: 'OPTIONS', headers })

  const allowed = await ask([
    'Origin',
    'https://app.example',
    'Access-Control-Request-Headers',
    'x-a, x-api-key',
  ])
  t.equal(allowed.status, 204)
  t.equal(allowed.headers['access-control-allow-origin'], 'https://app.example')
  t.equal(allowed.headers['access-control-allow-headers'], 'x-a, x-api-key')
  // The last two are for Google's cached contents and uploads.
  t.equal(allowed.headers['access-control-allow-methods'], 'GET, POST, DELETE, PATCH, PUT')
  for (const headers of [['Origin', 'https://evil.example'], []]) {
    const refused = await ask(headers)
    t.equal(refused.status, 405)
    t.equal(refused.headers['access-control-allow-origin'], undefined)
    t.match(refused.headers['allow'], 'POST')
  }
  t.equal(upstream.requests.length, 0)
})

await t.test('HEAD responds like GET without the body', async t => {
  const { gateway } = await start(t)
  const headers = ['authorization', `Bearer ${gateway.key}`]

  const get = await send(`${gateway.url}/v1/models`, { method: 'GET', headers })
  const head = await send(`${gateway.url}/v1/models`, { method: 'HEAD', headers })

  t.equal(head.status, 200)
  t.equal(head.headers['content-length'], get.headers['content-length'])
  t.equal(head.body.length, 0)
  t.ok(get.body.length > 0)
})

await t.test('targets and headers that servers interpret differently are refused', async t => {
  const { upstream, gateway } = await start(t)
  const targets = [
    'http://other.example/v1/chat/completions',
    'http://gateway/v1/chat/completions',
    '//v1/chat/completions',
    '/v1//chat/completions',
    '/v1/chat/../chat/completions',
    '/v1/./chat/completions',
    '/v1/%2e%2e/v1/chat/completions',
    '/v1/.%2E/v1/chat/completions',
    '/v1/chat%2fcompletions',
    '/v1/chat%2Fcompletions',
    String.raw`/v1\chat/completions`,
    '/v1/chat%5ccompletions',
    '/v1/chat/completions%00',
    '/v1/chat/completions#fragment',
    '/v1/chat/completions?x=1#key',
    '/v1/chat/compl\u00e9tions',
    '*',
    'v1/chat/completions',
    '/v1beta/models/..%2f..%2fsecrets:generateContent',
    '/v1beta/models/a%3fb:generateContent',
    '/v1/chat/completions?fields=id',
    '/v1/chat/completions?%66ields=id',
    '/v1/chat/completions?x=1&$fields=id',
    '/v1beta/models/gemini:generateContent?callback=f',
    '/v1beta/models/gemini:generateContent?%24alt=proto',
    '/v1beta/models/gemini:generateContent?access_token=t',
    '/v1beta/models/gemini:generateContent?$httpHeaders=x-goog-fieldmask%3Acandidates%0D%0A',
    '/v1beta/models/gemini:generateContent?%24httpMethod=GET',
    '/google/v1/chat/completions?$httpHeaders=x-goog-fieldmask%3Achoices%0D%0A',
    '/google/v1/chat/completions?$alt=proto',
    // Parameters that set the format of the body, another body or another payer.
    '/v1beta/models/gemini:generateContent?$ct=application/x-protobuf',
    '/v1beta/models/gemini:generateContent?%24ct=application/x-protobuf',
    '/v1beta/models/gemini:generateContent?$req=%7B%7D',
    '/v1beta/models/gemini:generateContent?$userProject=x',
    '/v1beta/models/gemini:generateContent?userProject=x',
    '/v1beta/models/gemini:generateContent?a=b;$ct=application/x-protobuf',
    '/v1beta/models/gemini:generateContent?a=b;alt=proto',
    '/v1beta/models/gemini:generateContent?Fields=candidates',
    '/v1beta/interactions?$ct=application/x-protobuf',
    '/upload/v1beta/files?$ct=application/x-protobuf',
    // Google's servers accept these parameters in every format.
    '/v1beta/openai/chat/completions?$ct=application/x-protobuf',
    '/v1beta/openai/chat/completions?alt=proto',
    '/v1beta/openai/chat/completions?alt=media',
    '/v1/chat/completions?callback=f',
    '/v1/chat/completions?access_token=t',
    '/v1/messages?alt=proto',
  ]
  const request = (target: string, header = ''): Buffer =>
    Buffer.from(
      `POST ${target} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n${header}` +
        `connection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      'latin1',
    )
  for (const target of targets) {
    const [answer] = parseAnswers((await sendRaw(t, gateway.url, request(target))).bytes)
    t.match(answer?.status, 400, target)
  }
  for (const name of ['X-Goog-FieldMask', 'x-http-method-override', 'X-HTTP-Method', 'x-method-override']) {
    const bytes = request('/v1/chat/completions', `${name}: GET\r\n`)
    t.equal(parseAnswers((await sendRaw(t, gateway.url, bytes)).bytes)[0]?.status, 400, name)
  }
  t.equal(upstream.requests.length, 0)
  for (const query of ['', '?$prettyPrint=false&prettyPrint=false', '?$.xgafv=2&$unique=1', '?alt=json']) {
    const { bytes } = await sendRaw(t, gateway.url, request(`/v1/chat/completions${query}`))
    t.equal(parseAnswers(bytes)[0]?.status, 200, query)
  }
})

await t.test('a key in the query is removed, and the rest of the query is unchanged', async t => {
  const { upstream, gateway } = await start(t)
  const path = '/v1beta/models/test-model:generateContent'
  const cases: [string, string][] = [
    [`?key=${gateway.key}`, ''],
    [`?a=%20b&key=${gateway.key}&c=+%2B;&&d`, '?a=%20b&c=+%2B;&&d'],
    [`?%6bey=${gateway.key}&alt=json`, '?alt=json'],
    [`?a=1&%6B%65%79=${gateway.key}`, '?a=1'],
    [`?key=${gateway.key.replace('gw-', 'gw%2D')}&x=%41`, '?x=%41'],
    [`?key=${gateway.key}&key=${gateway.key}&monkey=1`, '?monkey=1'],
  ]
  for (const [query, rest] of cases) {
    const answer = await send(gateway.url + path + query, { body: google.body(false) })
    t.equal(answer.status, 200, `${query} ${answer.body.toString()}`)
    t.equal(upstream.requests.at(-1)?.path, path + rest)
  }
  t.notMatch(Buffer.concat(upstream.received).toString(), gateway.key.slice(3))
  t.notMatch(gateway.logLines.join(''), gateway.key.slice(3), 'nor is it in the log')
})

await t.test(
  'a WebSocket that the provider refuses is an error response, and other upgrades are plain requests',
  async t => {
    const { upstream, gateway } = await start(t)
    const upgrade = (path: string, protocol: string): string =>
      `GET ${path} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\nconnection: Upgrade\r\n` +
      `upgrade: ${protocol}\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`
    const cases: [string, number, RegExp][] = [
      ['/v1/realtime?model=test-model', 502, /^\{"error":\{"message":".*"code":"upstream_failed"/],
      ['/ws/else', 404, /"status":"NOT_FOUND"/],
    ]
    for (const [path, status, message] of cases) {
      const [answer] = parseAnswers((await sendRaw(t, gateway.url, upgrade(path, 'WebSocket'))).bytes)
      t.equal(answer?.status, status, path)
      t.match(answer?.body.toString(), message)
      t.equal(answer?.isWhole, true)
    }

    for (const protocol of ['websocket', 'h2c']) {
      const { bytes, end } = await sendRaw(t, gateway.url, upgrade('/v1/models', protocol))
      t.equal(parseAnswers(bytes)[0]?.status, 200)
      t.equal(end, 'end', 'the connection closes, since the next bytes may be of another protocol')
    }
    t.equal(upstream.requests.length, 1, 'the upstream received one upgrade request')

    const post = upgrade('/v1/chat/completions', 'h2c').replace('GET', 'POST').replace('\r\n\r\n', '\r\n')
    const client = await connectRaw(t, gateway.url)
    client.socket.write(`${post}content-length: ${body.length}\r\n\r\n${body}`)
    await until(() => upstream.requests.length === 2)
    t.notMatch(upstream.requests[1]?.headers.join('\n').toLowerCase(), 'upgrade')
  },
)

await t.test('responses to HTTP/1.0 clients end by closing, after the charge is written', async t => {
  const { upstream, gateway } = await start(t)
  upstream.answer = () => ({
    pieces: [
      headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
      ...chunked(openai.events.map(event => Buffer.from(event))),
    ],
  })
  const streamed = openai.body(true)

  // The last receives no 100 Continue: an HTTP/1.0 client would take it for the response.
  for (const connection of ['', 'connection: keep-alive\r\n', 'expect: 100-continue\r\n']) {
    const before = (await gateway.charges()).length
    const { bytes, end } = await sendRaw(
      t,
      gateway.url,
      `POST /v1/chat/completions HTTP/1.0\r\n${connection}authorization: Bearer ${gateway.key}\r\n` +
        `content-length: ${streamed.length}\r\n\r\n${streamed}`,
    )
    t.equal((await gateway.charges()).length, before + 1, 'the charge was written when the connection closed')
    const [answer] = parseAnswers(bytes)
    t.equal(end, 'end', 'a FIN, no reset')
    t.equal(answer?.headers.get('transfer-encoding'), undefined)
    t.equal(answer?.body.toString(), openai.events.join(''))
  }
  await settled(gateway, 3)
  await checkMoney(t, gateway)
})

await t.test('a cut response to an HTTP/1.0 client ends with a reset', async t => {
  const { upstream, gateway } = await start(t)
  const client = await connectRaw(t, gateway.url)
  upstream.answer = () => ({
    pieces: [
      headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked']),
      chunked([Buffer.from(openai.events[0]!)])[0]!,
    ],
    then: 'end',
    before: () => client.waitFor('Once'),
  })
  const streamed = openai.body(true)

  client.socket.write(
    `POST /v1/chat/completions HTTP/1.0\r\nauthorization: Bearer ${gateway.key}\r\n` +
      `content-length: ${streamed.length}\r\n\r\n${streamed}`,
  )

  t.equal(await client.ended, 'reset')
})
