import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { parseAnswers, sendRaw, type ParsedAnswer } from '../fixtures/raw-client.ts'
import { plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'

const origin = 'https://app.example'
const upstream = await startRawUpstream(t, () =>
  plainAnswer(400, ['content-type', 'application/json'], '{"error":{"message":"no","type":"x"}}'),
)
const gateway = await startTestGateway(t, {
  config: {
    cors: { origins: [origin] },
    providers: {
      somebody: { credentials: ['c'], dialects: { openai: { baseUrl: `${upstream.origin}/v1` } } },
    },
    models: { m: { provider: 'somebody', rubPerMillion: { input: '1', output: '1' } } },
  },
})

async function raw(t: Test, text: string): Promise<ParsedAnswer> {
  const [answer] = parseAnswers((await sendRaw(t, gateway.url, text)).bytes)
  if (answer === undefined) throw new Error('there was no response')
  return answer
}

const upgrade = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: g\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
  'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

const requests: readonly (readonly [what: string, status: number, text: string])[] = [
  ['no HTTP at all', 400, 'HELLO\r\n\r\n'],
  ['a header with a space before its colon', 400, 'GET / HTTP/1.1\r\nhost : g\r\n\r\n'],
  ['a head that is too long', 431, `GET / HTTP/1.1\r\nhost: g\r\nx-long: ${'a'.repeat(20_000)}\r\n\r\n`],
  [
    'a WebSocket requested as plain HTTP',
    426,
    `GET /v1/realtime?model=m HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\n\r\n`,
  ],
  ['Responses over a WebSocket without a key', 401, upgrade('/v1/responses')],
  ['a realtime session without a key', 401, upgrade('/v1/realtime?model=m')],
  ['a tunnel', 405, 'CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n'],
]

for (const [what, status, text] of requests) {
  await t.test(`${what} is refused with ${status} and an id, and must not be retried`, async t => {
    const { headers, body, isWhole, ...answer } = await raw(t, text)

    t.equal(answer.status, status)
    t.ok(isWhole)
    t.match(headers.get('x-gateway-request-id'), /^[0-9a-z]{26}$/)
    t.equal(headers.get('x-request-id'), headers.get('x-gateway-request-id'))
    t.equal(headers.get('x-should-retry'), 'false')
    t.equal(headers.get('content-type'), 'application/json')
    t.type((JSON.parse(body.toString()) as { error: { message: string } }).error.message, 'string')
    if (status === 426) t.equal(headers.get('upgrade'), 'websocket', 'RFC 9110 section 15.5.22')
    if (status === 405) t.match(headers.get('allow'), 'POST')
  })
}

await t.test('a page of an allowed origin can read errors too', async t => {
  const key = ['authorization', `Bearer ${gateway.key}`]
  const chat = (model: string): string => JSON.stringify({ model, messages: [] })
  const cases: readonly (readonly [status: number, path: string, headers: string[], body: string])[] = [
    [401, '/v1/chat/completions', [], chat('m')],
    [404, '/v1/chat/completions', key, chat('nobody')],
    [404, '/v1/nothing', key, '{}'],
    [405, '/gateway/v1/balance', key, '{}'],
    [400, '/v1/chat/completions', key, chat('m')],
  ]
  for (const [status, path, headers, body] of cases) {
    const answer = await send(gateway.url + path, { headers: ['origin', origin, ...headers], body })
    t.equal(answer.status, status, path)
    t.equal(answer.headers['access-control-allow-origin'], origin, `${status} ${path}`)
    t.match(answer.headers['access-control-expose-headers'], 'x-gateway-request-id')
    const elsewhere = await send(gateway.url + path, {
      headers: ['origin', 'https://evil.example', ...headers],
      body,
    })
    t.equal(elsewhere.headers['access-control-allow-origin'], undefined)
  }
})
