import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { send } from '../fixtures/http-client.ts'
import { connectRaw, parseAnswers } from '../fixtures/raw-client.ts'
import { plainAnswer, startRawUpstream, type RawAnswer } from '../fixtures/raw-upstream.ts'
import { somebodyAt } from '../fixtures/somebody-at.ts'
import { startTestGateway, until } from '../fixtures/test-gateway.ts'

// Requests that two servers could read in two ways, and headers by which a provider could control a server in front.

let answer: () => RawAnswer | Promise<RawAnswer> = () => plainAnswer(200, json, document)
const json = ['content-type', 'application/json']
const document = JSON.stringify({
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }],
  usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
})
const upstream = await startRawUpstream(t, () => answer())
const gateway = await startTestGateway(t, {
  config: {
    providers: somebodyAt(upstream.origin),
    models: { m: { provider: 'somebody', rubPerMillion: { input: '1000', output: '1000' } } },
  },
})
const body = '{"model":"m","messages":[]}'

function head(extra: readonly string[] = [], path = '/v1/chat/completions', length = body.length): string {
  return [
    `POST ${path} HTTP/1.1`,
    'host: a',
    `authorization: Bearer ${gateway.key}`,
    `content-length: ${length}`,
    ...extra,
    '\r\n',
  ].join('\r\n')
}

await t.test('bytes after an upgrade that is ignored are never a request', async t => {
  const hidden = `${head()}${body}`
  for (const upgrade of ['h2c', 'websocket', 'TLS/1.0', 'foo']) {
    const before = upstream.requests.length
    const client = await connectRaw(t, gateway.url)
    const extra = ['connection: Upgrade, h2c', `upgrade: ${upgrade}`]
    client.socket.write(head(extra, '/v1/chat/completions', hidden.length))
    await delay(50)
    client.socket.write(hidden)
    await Promise.race([client.ended, delay(1000)])
    t.ok(upstream.requests.length - before <= 1, upgrade)
    t.notOk(
      upstream.requests.slice(before).some(request => request.body.toString() === body),
      `${upgrade}: the hidden request does not reach the provider`,
    )
  }
})

await t.test('after an upgrade that is ignored the connection closes', async t => {
  const client = await connectRaw(t, gateway.url)
  client.socket.write(`${head(['connection: Upgrade', 'upgrade: h2c'])}${body}`)
  await client.ended
  const [first] = parseAnswers(client.received())
  t.equal(first?.status, 200)
})

await t.test('headers that control a server in front are not passed on from providers', async t => {
  const orders = [
    ['x-accel-redirect', '/internal/secret'],
    ['X-Accel-Buffering', 'yes'],
    ['x-accel-expires', '100000'],
    ['x-sendfile', '/etc/passwd'],
    ['X-Sendfile-Type', 'X-Accel-Redirect'],
    ['x-lighttpd-send-file', '/etc/passwd'],
    ['x-lighttpd-send-tempfile', '/tmp/a'],
    ['x-litespeed-location', '/internal'],
    ['x-reproxy-url', 'http://127.0.0.1/'],
    ['refresh', '0; url=https://evil.example'],
    ['service-worker-allowed', '/'],
    ['strict-transport-security', 'max-age=1'],
    ['content-security-policy', 'sandbox'],
    ['content-security-policy-report-only', "default-src 'none'"],
    ['public-key-pins', 'pin-sha256="x"'],
    ['permissions-policy', 'camera=*'],
    ['set-cookie', 'a=b'],
    ['clear-site-data', '"*"'],
    ['alt-svc', 'h3=":443"'],
    // A cache in front would store one customer's response for others.
    ['cdn-cache-control', 'max-age=600'],
    ['Cloudflare-CDN-Cache-Control', 'max-age=600'],
    ['surrogate-control', 'max-age=600'],
    ['surrogate-key', 'a'],
    ['edge-control', 'cache-maxage=1d'],
    ['cache-tag', 'a'],
    ['accept-ch', 'Sec-CH-UA-Model'],
    ['critical-ch', 'Sec-CH-UA-Model'],
    ['use-as-dictionary', 'match="/*"'],
    ['Secure-Session-Registration', '(ES256);path="/a"'],
    ['integrity-policy', 'blocked-destinations=(script)'],
  ] as const
  answer = () => plainAnswer(200, [...json, ...orders.flat(), 'x-provider-own', 'passes'], document)
  const response = await send(`${gateway.url}/v1/chat/completions`, {
    headers: ['authorization', `Bearer ${gateway.key}`],
    body,
  })
  const names = response.rawHeaders.filter((_, index) => index % 2 === 0).map(name => name.toLowerCase())
  t.same(
    orders.map(([name]) => name.toLowerCase()).filter(name => names.includes(name)),
    [],
  )
  t.ok(names.includes('x-provider-own'))
  answer = () => plainAnswer(200, json, document)
})

await t.test('headers that a provider could read as a path or a key are not passed to it', async t => {
  const tricks = [
    ['X-Original-URL', '/v1/organization/api_keys'],
    ['X-Rewrite-URL', '/v1/organization/api_keys'],
    ['x-original-uri', '/v1/files'],
    ['x_api_key', 'k'],
    ['X_Forwarded_For', '1.1.1.1'],
    ['openai_organization', 'org-theirs'],
    ['content_length', '0'],
    // Google would send a response in base64, in which no usage is found.
    ['X-Goog-Encode-Response-If-Executable', 'base64'],
    ['X-DashScope-WorkSpace', 'llm-theirs'],
  ] as const
  const before = upstream.requests.length
  await send(`${gateway.url}/v1/chat/completions`, {
    headers: ['authorization', `Bearer ${gateway.key}`, ...tricks.flat(), 'x-stainless-lang', 'js'],
    body,
  })
  const names = upstream.requests[before]?.headers.filter((_, index) => index % 2 === 0) ?? []
  t.same(
    tricks.map(([name]) => name).filter(name => names.includes(name)),
    [],
  )
  t.ok(names.includes('x-stainless-lang'))
})

await t.test('the idempotency key of another customer repeats none of their responses', async t => {
  const other = await gateway.accounts.createAccount({ email: 'other@example.org' })
  await gateway.accounts.credit({ accountId: other.id, amountMicros: 1_000_000_000, reason: 'test' })
  const { key: otherKey } = await gateway.accounts.createKey({ accountId: other.id })
  const seenBy = async (key: string, name: string): Promise<string | undefined> => {
    const before = upstream.requests.length
    await send(`${gateway.url}/v1/chat/completions`, {
      headers: ['authorization', `Bearer ${key}`, name, 'order-1'],
      body,
    })
    const headers = upstream.requests[before]?.headers ?? []
    return headers[headers.indexOf(name) + 1]
  }

  for (const name of ['Idempotency-Key', 'x-idempotency-key']) {
    const first = await seenBy(gateway.key, name)

    t.match(first, /^[\w-]{43}$/, name)
    t.equal(await seenBy(gateway.key, name), first, 'its own repetition gets the same response')
    t.not(await seenBy(otherKey, name), first)
  }
})

await t.test('ambiguous paths are refused', async t => {
  const before = upstream.requests.length
  for (const path of [
    '/v1/..;/organization',
    '/v1/chat/..;a=b/files',
    '/v1/.;/files',
    '/somebody/v1/things/%252e%252e/files',
    '/v1/%2566iles',
    '/somebody/v1/things/..%3b/files',
  ]) {
    const client = await connectRaw(t, gateway.url)
    client.socket.end(`${head(['connection: close'], path)}${body}`)
    await client.ended
    t.equal(parseAnswers(client.received())[0]?.status, 400, path)
  }
  t.equal(upstream.requests.length, before)
})

await t.test('an invalid next request does not replace the response of the one before it', async t => {
  const spent = (await gateway.charges()).length
  for (const broken of [
    'GARBAGE\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    `POST /v1/x HTTP/1.1\r\nhost: a\r\na : b\r\n\r\n`,
  ]) {
    answer = async () => {
      await delay(300)
      return plainAnswer(200, json, document)
    }
    const client = await connectRaw(t, gateway.url)
    client.socket.write(`${head()}${body}`)
    await delay(50)
    client.socket.write(broken)
    await client.ended
    const answers = parseAnswers(client.received())
    t.equal(answers[0]?.status, 200, broken.slice(0, 12))
    t.equal(answers[0]?.body.toString(), document)
    t.equal(answers[1]?.status, 400)
  }
  await until(async () => (await gateway.charges()).length === spent + 3)
  t.same(await gateway.breaches(), [])
})
