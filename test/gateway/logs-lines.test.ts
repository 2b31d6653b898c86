import t from 'tap'
import { callConfig, dialectCalls, providerCredential, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, settled } from '../fixtures/exchange-ends.ts'
import { send } from '../fixtures/http-client.ts'
import { chunked, headLines, plainAnswer, startRawUpstream } from '../fixtures/raw-upstream.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai] = dialectCalls as readonly [DialectCall]

interface Timings {
  readonly queueMs?: number
  readonly holdMs?: number
  readonly connectMs?: number
  readonly firstByteMs?: number
  readonly endMs?: number
}

function lineOf(gateway: TestGateway, requestId: string): Record<string, unknown> & { timings: Timings } {
  const lines = gateway.logLines
    .map(line => JSON.parse(line) as Record<string, unknown> & { timings: Timings })
    .filter(line => line['requestId'] === requestId && line['msg'] === 'exchange')
  t.equal(lines.length, 1, 'one line an exchange')
  return lines[0]!
}

await t.test('an exchange is one log line with its operation, payer, cost and times', async t => {
  const events = chunked(openai.events.map(event => Buffer.from(event)))
  const upstream = await startRawUpstream(t, async () => {
    await new Promise(resolve => setTimeout(resolve, 60))
    const head = headLines(200, ['content-type', 'text/event-stream', 'transfer-encoding', 'chunked'])
    return { pieces: [head, ...events] }
  })
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })

  const answer = await send(gateway.url + openai.path(true), {
    headers: openai.keyHeader(gateway.key),
    body: openai.body(true),
  })

  await settled(gateway, 1)
  const { timings, ...line } = lineOf(gateway, answer.requestId)
  t.match(line, {
    level: 'info',
    outcome: 'completed',
    status: 200,
    dialect: 'openai',
    operation: 'chat',
    account: gateway.accountId,
    key: gateway.keyId,
    client: '127.0.0.0',
    provider: 'openai',
    credentialName: 'openai#1',
    attempts: 1,
    model: 'test-model',
    answeredModel: 'test-model',
    amount: '0.046000',
  })
  const { queueMs = -1, holdMs = -1, connectMs = -1, firstByteMs = -1, endMs = -1 } = timings
  t.ok(queueMs >= 0 && queueMs <= connectMs && queueMs <= holdMs, JSON.stringify(timings))
  t.ok(connectMs <= firstByteMs && firstByteMs - connectMs >= 50, 'the delay of the provider')
  t.ok(holdMs < firstByteMs, 'the hold was durable before the provider responded')
  t.ok(firstByteMs <= endMs)
  await checkMoney(t, gateway)
})

for (const [setting, shown] of [
  ['full', '203.0.113.77'],
  ['truncated', '203.0.113.0'],
  ['none', undefined],
] as const) {
  await t.test(`the log line has the client's address in the configured form: ${setting}`, async t => {
    const upstream = await startRawUpstream(t, () =>
      plainAnswer(200, ['content-type', 'application/json'], openai.document),
    )
    const log = { clientAddress: setting }
    const gateway = await startTestGateway(t, {
      config: callConfig(upstream.origin, {}, { log, trustedProxies: ['127.0.0.1'] }),
    })

    const answer = await send(gateway.url + openai.path(false), {
      headers: [...openai.keyHeader(gateway.key), 'x-forwarded-for', '198.51.100.9, 203.0.113.77'],
      body: openai.body(false),
    })

    await settled(gateway, 1)
    t.equal(lineOf(gateway, answer.requestId)['client'], shown)
  })
}

await t.test('the line of an exchange lists every attempt with its target and its result', async t => {
  let count = 0
  const upstream = await startRawUpstream(t, () => {
    count += 1
    return count === 1
      ? plainAnswer(401, ['content-type', 'application/json'], '{"error":{"code":"invalid_api_key"}}')
      : plainAnswer(200, ['content-type', 'application/json'], openai.document)
  })
  const credentials = [
    { name: 'a', value: 'sk-canary-one' },
    { name: 'b', value: 'sk-canary-two' },
  ]
  const gateway = await startTestGateway(t, { config: callConfig(upstream.origin, { credentials }) })

  const answer = await send(gateway.url + openai.path(false), {
    headers: openai.keyHeader(gateway.key),
    body: openai.body(false),
  })

  await settled(gateway, 1)
  const line = lineOf(gateway, answer.requestId)
  t.equal(
    Object.keys(line).toSorted().join(' '),
    'account amount answeredModel attempts client credentialName dialect durationMs egress key ' +
      'level model msg operation outcome provider requestId status time timings tried',
    'all fields that a line may have',
  )
  const [first] = line['tried'] as readonly Record<string, unknown>[]
  t.equal((line['tried'] as readonly object[]).length, 1)
  t.match(first, {
    provider: 'openai',
    credentialName: /^openai#[ab]$/,
    egress: 'direct',
    status: 401,
    result: 'invalid_api_key',
    durationMs: Number,
  })
  t.match(line, { attempts: 2, status: 200, credentialName: /^openai#[ab]$/ })
  t.not(line['credentialName'], first?.['credentialName'])
  t.notMatch(gateway.logLines.join(''), 'sk-canary')
})

await t.test(
  'the line of a refusal has its code and reason, and no times of steps that did not happen',
  async t => {
    const upstream = await startRawUpstream(t, () => plainAnswer(200, [], openai.document))
    const gateway = await startTestGateway(t, { config: callConfig(upstream.origin) })

    const refused = await send(gateway.url + openai.path(false), {
      headers: openai.keyHeader('gw-unknown'),
      body: openai.body(false),
    })

    await settled(gateway, 1)
    const line = lineOf(gateway, refused.requestId)
    t.match(line, {
      level: 'info',
      outcome: 'refused',
      code: 'key_invalid',
      status: 401,
      reason: /not known/,
    })
    t.notOk('error' in line, 'a refusal is no fault of the program, so it has no stack')
    t.same(Object.keys(line.timings), ['endMs'])
  },
)

await t.test('a canary in every place where a secret can be is not logged at any level', async t => {
  const canary = 'CANARY0123456789abcdef'
  const upstream = await startRawUpstream(t, () => ({
    pieces: [Buffer.from(`HTTP/1.1 500 ${canary}\r\nset-cookie: s=${canary}\r\ncontent-length: 2\r\n\r\n{}`)],
  }))
  const gateway = await startTestGateway(t, {
    config: callConfig(upstream.origin, {}, { log: { level: 'trace' } }),
  })
  const secret = `gw-${canary}${'x'.repeat(21)}`
  const headers = [
    'authorization',
    `Bearer ${secret}`,
    'x-api-key',
    secret,
    'x-goog-api-key',
    secret,
    'api-key',
    secret,
    'cookie',
    `key=${secret}`,
    'proxy-authorization',
    `Basic ${canary}`,
  ]
  const answers = [
    await send(`${gateway.url}/v1/chat/completions?key=${secret}`, { headers, body: openai.body(false) }),
    await send(`${gateway.url}/v1/${secret}?key=${canary}`, { headers, body: canary }),
    await send(`${gateway.url}/v1/chat/completions`, {
      headers: openai.keyHeader(gateway.key),
      body: openai.body(false).replace('Tell me', canary),
    }),
    await send(`${gateway.url}/v1/chat/completions`, {
      headers: openai.keyHeader(gateway.key),
      body: `{"model":"test-model","${canary}":`,
    }),
  ]
  await settled(gateway, answers.length)

  const log = gateway.logLines.join('')
  t.same(
    answers.map(answer => answer.status),
    [401, 404, 500, 400],
  )
  for (const answer of answers) t.match(log, answer.requestId)
  t.notMatch(log, canary)
  t.notMatch(log, providerCredential)
  t.notMatch(log, gateway.key)
  await checkMoney(t, gateway)
})
