import t, { type Test } from 'tap'
import { callConfig, dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, exchangeEnds, settled } from '../fixtures/exchange-ends.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import {
  headLines,
  plainAnswer,
  startRawUpstream,
  type RawAnswer,
  type RawUpstream,
  type SeenRequest,
} from '../fixtures/raw-upstream.ts'
import { startTestGateway, type TestGateway } from '../fixtures/test-gateway.ts'

const [openai, anthropic, google] = dialectCalls as readonly [DialectCall, DialectCall, DialectCall]
const json = ['content-type', 'application/json']

/** The credential that a request came with. */
function credentialOf({ headers }: SeenRequest, call: DialectCall): string {
  const at = headers.findIndex(
    (name, index) => index % 2 === 0 && name.toLowerCase() === call.credentialHeader,
  )
  return (headers[at + 1] ?? '').replace('Bearer ', '')
}

interface Setup {
  readonly upstream: RawUpstream
  readonly gateway: TestGateway
  /** Credentials by request, in order. */
  readonly used: () => string[]
}

async function start(
  t: Test,
  call: DialectCall,
  credentials: readonly unknown[],
  refuse: (credential: string, request: SeenRequest) => RawAnswer | undefined,
  provider: Readonly<Record<string, unknown>> = {},
): Promise<Setup> {
  const upstream = await startRawUpstream(
    t,
    request => refuse(credentialOf(request, call), request) ?? plainAnswer(200, json, call.document),
  )
  const models = { '*': { provider: call.name, rubPerMillion: { input: '1000', output: '1000' } } }
  const gateway = await startTestGateway(t, {
    config: callConfig(upstream.origin, { credentials, ...provider }, { models }),
  })
  return { upstream, gateway, used: () => upstream.requests.map(request => credentialOf(request, call)) }
}

async function ask(
  gateway: TestGateway,
  call: DialectCall,
  options: { readonly body?: string; readonly headers?: readonly string[] } = {},
): Promise<ClientAnswer> {
  return await send(gateway.url + call.path(false), {
    headers: [...call.keyHeader(gateway.key), ...json, ...(options.headers ?? [])],
    body: options.body ?? call.body(false),
  })
}

const refusals: readonly { call: DialectCall; name: string; status: number; body: string }[] = [
  {
    call: openai,
    name: 'invalid_api_key',
    status: 401,
    body: '{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}',
  },
  {
    call: openai,
    name: 'insufficient_quota',
    status: 429,
    body: '{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}',
  },
  {
    call: anthropic,
    name: 'authentication_error',
    status: 401,
    body: '{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
  },
  {
    call: anthropic,
    name: 'billing_error',
    status: 402,
    body: '{"type":"error","error":{"type":"billing_error","message":"Your account is past due."}}',
  },
  {
    call: google,
    name: 'API_KEY_INVALID',
    status: 400,
    body: '{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}',
  },
]

for (const { call, name, status, body } of refusals) {
  await t.test(`${call.name}: ${name} suspends the credential, and another answers`, async t => {
    const { gateway, used } = await start(t, call, [{ value: 'bad', weight: 1000 }, 'good'], credential =>
      credential === 'bad' ? plainAnswer(status, json, body) : undefined,
    )
    for (let count = 0; count < 3; count += 1) {
      const answer = await ask(gateway, call)
      t.equal(answer.status, 200, answer.body.toString())
      t.equal(answer.body.toString(), call.document)
    }
    t.same(used(), ['bad', 'good', 'good', 'good'])
    const ends = await settled(gateway, 3)
    t.match(ends, [
      { attempts: 2, credentialName: `${call.name}#2` },
      { attempts: 1, credentialName: `${call.name}#2` },
      { attempts: 1 },
    ])
    t.equal(gateway.logLines.filter(line => line.includes('"alarm":"credential_suspended"')).length, 1)
    t.equal((await gateway.charges()).length, 3)
    await checkMoney(t, gateway)
  })

  await t.test(`${call.name}: ${name} with no credential left is 502 credentials_exhausted`, async t => {
    const { gateway, upstream } = await start(t, call, ['bad-1', 'bad-2'], () =>
      plainAnswer(status, json, body),
    )
    for (let count = 0; count < 3; count += 1) {
      const answer = await ask(gateway, call)
      t.equal(answer.status, 502)
      t.match(answer.body.toString(), call.errorBody)
      t.match(answer.body.toString(), /no working credential/)
      t.notMatch(answer.body.toString(), /bad-/)
    }
    t.equal(upstream.requests.length, 2, 'each is tried once')
    await settled(gateway, 3)
    t.same(await gateway.charges(), [])
    await checkMoney(t, gateway)
  })
}

await t.test(
  'nothing that a client sends suspends a credential: other errors pass, byte for byte',
  async t => {
    const bodies: readonly (readonly [number, string])[] = [
      [
        400,
        '{"error":{"message":"Unknown model: invalid_api_key API_KEY_INVALID insufficient_quota","type":"invalid_request_error","code":"invalid_value"}}',
      ],
      [
        401,
        '{"error":{"message":"You have insufficient permissions for this operation. invalid_api_key","type":"invalid_request_error","code":"missing_scope"}}',
      ],
      [
        403,
        '{"error":{"message":"The model is not for you","type":"invalid_request_error","code":"model_not_found"}}',
      ],
      [
        404,
        '{"error":{"message":"insufficient_quota","type":"invalid_request_error","code":"insufficient_quota"}}',
      ],
      [500, '{"error":{"message":"oops","type":"server_error","code":"invalid_api_key"}}'],
      [401, '<html>invalid_api_key</html>'],
      [400, '{'],
      [400, ''],
    ]
    let next = 0
    const { gateway, upstream } = await start(t, openai, ['one', 'two'], () => {
      const [status, body] = bodies[next] as readonly [number, string]
      return plainAnswer(status, json, body)
    })
    for (; next < bodies.length; next += 1) {
      const [status, body] = bodies[next] as readonly [number, string]
      const answer = await ask(gateway, openai)
      t.equal(answer.status, status)
      t.equal(answer.body.toString(), body)
    }
    t.equal(upstream.requests.length, bodies.length, 'none is repeated')
    await settled(gateway, bodies.length)
    t.notOk(gateway.logLines.some(line => line.includes('credential_suspended')))
    t.same(await gateway.charges(), [])
    await checkMoney(t, gateway)
  },
)

await t.test('a long or slow error body passes whole', async t => {
  const long = Buffer.from(`{"error":{"message":"${'x'.repeat(300_000)}","code":"invalid_api_key"}}`)
  const { gateway } = await start(t, openai, ['one'], () => ({
    pieces: [
      headLines(401, [...json, 'content-length', String(long.length)]),
      long.subarray(0, 70_000),
      long.subarray(70_000),
    ],
  }))
  const answer = await ask(gateway, openai)
  t.equal(answer.status, 401)
  t.ok(answer.body.equals(long))
  await settled(gateway, 1)
  await checkMoney(t, gateway)
})

const limited =
  '{"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}}'

await t.test(
  'fault 14: a 429 goes on to another credential, which then has the model for a while',
  async t => {
    const { gateway, used } = await start(
      t,
      openai,
      [{ value: 'limited', weight: 1000 }, 'free'],
      credential =>
        credential === 'limited' ? plainAnswer(429, [...json, 'retry-after', '60'], limited) : undefined,
    )
    for (let count = 0; count < 3; count += 1) t.equal((await ask(gateway, openai)).status, 200)
    t.same(used(), ['limited', 'free', 'free', 'free'])

    const other = await ask(gateway, openai, {
      body: openai.body(false).replace('test-model', 'other-model'),
    })
    t.equal(other.status, 200)
    t.same(used().slice(4), ['limited', 'free'], 'another model is another limit')
    await settled(gateway, 4)
    t.equal((await gateway.charges()).length, 4)
    await checkMoney(t, gateway)
  },
)

await t.test('fault 14: the last usable credential is never cooled; its 429 passes unchanged', async t => {
  const { gateway, used } = await start(t, openai, ['one'], () =>
    plainAnswer(429, [...json, 'retry-after', '60', 'x-ratelimit-reset-tokens', '6m0s'], limited),
  )
  for (let count = 0; count < 3; count += 1) {
    const answer = await ask(gateway, openai)
    t.equal(answer.status, 429)
    t.equal(answer.body.toString(), limited)
    t.equal(answer.headers['retry-after'], '60')
    t.equal(answer.headers['x-ratelimit-reset-tokens'], '6m0s')
  }
  t.same(used(), ['one', 'one', 'one'])
  await settled(gateway, 3)
  t.same(await gateway.charges(), [])
  await checkMoney(t, gateway)
})

await t.test('fault 14: when every credential is limited the provider\u2019s own 429 passes', async t => {
  const { gateway, used } = await start(t, openai, ['one', 'two'], () =>
    plainAnswer(429, [...json, 'retry-after', '60'], limited),
  )
  const answer = await ask(gateway, openai)
  t.equal(answer.status, 429)
  t.equal(answer.body.toString(), limited)
  t.same(used().toSorted(), ['one', 'two'], 'each was asked once')
  const again = await ask(gateway, openai)
  t.equal(again.status, 429)
  await settled(gateway, 2)
  t.same(await gateway.charges(), [])
  await checkMoney(t, gateway)
})

await t.test(
  'with failover: { on: [] } a 429 passes at once, and the next request goes elsewhere',
  async t => {
    const { gateway, used } = await start(
      t,
      openai,
      [{ value: 'limited', weight: 1000 }, 'free'],
      credential =>
        credential === 'limited' ? plainAnswer(429, [...json, 'retry-after', '60'], limited) : undefined,
      { failover: { on: [] } },
    )
    t.equal((await ask(gateway, openai)).status, 429)
    t.equal((await ask(gateway, openai)).status, 200)
    t.same(used(), ['limited', 'free'])
    await settled(gateway, 2)
    await checkMoney(t, gateway)
  },
)

const system = `You are a helpful gateway. ${'It knows a great deal. '.repeat(100)}`

function conversation(topic: string, turns: number): string {
  const messages = Array.from({ length: turns }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: `${topic} ${turn}`,
  }))
  return JSON.stringify({
    model: 'test-model',
    max_tokens: 10,
    messages: [{ role: 'system', content: topic + system }, ...messages],
  })
}

await t.test('what belongs together stays with one credential, and all have their share', async t => {
  const credentials = ['c-1', 'c-2', 'c-3', { value: 'c-4', weight: 3 }]
  const { gateway, used } = await start(t, openai, credentials, () => undefined)
  const byBody = (member: string): string => openai.body(false).replace('{', `{${member},`)
  const kinds: Record<string, (name: string, turn: number) => Parameters<typeof ask>[2]> = {
    'a conversation that grows': (name, turn) => ({ body: conversation(name, 1 + 2 * turn) }),
    prompt_cache_key: (name, turn) => ({ body: byBody(`"prompt_cache_key":"${name}","user":"${turn}"`) }),
    'metadata.user_id': (name, turn) => ({
      body: byBody(`"seed":${turn},"metadata":{"a":1,"user_id": "${name}"}`),
    }),
    'a session of Claude Code': (name, turn) => ({
      body: conversation(`${turn}`, 1),
      headers: ['X-Claude-Code-Session-Id', name],
    }),
    'a session of Codex': (name, turn) => ({
      body: conversation(`${turn}`, 1),
      headers: ['session_id', name],
    }),
  }
  for (const [kind, options] of Object.entries(kinds)) {
    const chosen: string[] = []
    for (let index = 0; index < 40; index += 1) {
      const before = used().length
      for (let turn = 0; turn < 3; turn += 1) await ask(gateway, openai, options(`name-${index}`, turn))
      const got = new Set(used().slice(before))
      if (got.size !== 1) t.fail(`${kind}: name-${index} went to ${[...got].join()}`)
      chosen.push([...got][0] ?? '')
    }
    t.equal(new Set(chosen).size, 4, `${kind}: every credential has some`)
    const heavy = chosen.filter(name => name === 'c-4').length
    t.ok(heavy >= 10 && heavy <= 31, `${kind}: the weighty one has ${heavy} of 40`)
  }
  await settled(gateway, 600)
  await checkMoney(t, gateway)
})

await t.test('a keyless server gets no key', async t => {
  const { gateway, upstream } = await start(t, openai, [], () => undefined)
  t.equal((await ask(gateway, openai)).status, 200)
  t.notOk(upstream.requests[0]?.headers.some(name => name.toLowerCase() === 'authorization'))
  t.equal(exchangeEnds(gateway).length, 1)
  await settled(gateway, 1)
  await checkMoney(t, gateway)
})
