import t from 'tap'
import { startCountingGateway } from '../fixtures/counting-gateway.ts'
import { askAs, startWithCredentials } from '../fixtures/credential-gateway.ts'
import { dialectCalls, type DialectCall } from '../fixtures/dialect-call.ts'
import { checkMoney, exchangeEnds, settled } from '../fixtures/exchange-ends.ts'
import { headLines, plainAnswer } from '../fixtures/raw-upstream.ts'
import { ask as askBySdk, checkError, dialectNames } from '../fixtures/sdk-errors.ts'

const [openai, anthropic, google] = dialectCalls as readonly [DialectCall, DialectCall, DialectCall]
const json = ['content-type', 'application/json']

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
  await t.test(
    `${call.name}: ${name} suspends the credential, and another one serves the request`,
    async t => {
      const { gateway, used } = await startWithCredentials(
        t,
        call,
        [{ value: 'bad', weight: 1_000_000 }, 'good'],
        credential => (credential === 'bad' ? plainAnswer(status, json, body) : undefined),
      )
      for (let count = 0; count < 3; count += 1) {
        const answer = await askAs(gateway, call)
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
      t.equal((await gateway.chargesOfWork()).length, 3)
      await checkMoney(t, gateway)
    },
  )

  await t.test(`${call.name}: ${name} with no credential left is 502 credentials_exhausted`, async t => {
    const { gateway, upstream } = await startWithCredentials(t, call, ['bad-1', 'bad-2'], () =>
      plainAnswer(status, json, body),
    )
    for (let count = 0; count < 3; count += 1) {
      const answer = await askAs(gateway, call)
      t.equal(answer.status, 502)
      t.match(answer.body.toString(), call.errorBody)
      t.match(answer.body.toString(), /no working credential/)
      t.notMatch(answer.body.toString(), /bad-/)
    }
    t.equal(upstream.requests.length, 2, 'each is tried once')
    await settled(gateway, 3)
    t.same(await gateway.chargesOfWork(), [])
    await checkMoney(t, gateway)
  })
}

await t.test(
  'errors that a client can cause suspend no credential, and are relayed byte for byte',
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
    const { gateway, upstream } = await startWithCredentials(t, openai, ['one', 'two'], () => {
      const [status, body] = bodies[next] as readonly [number, string]
      return plainAnswer(status, json, body)
    })
    for (; next < bodies.length; next += 1) {
      const [status, body] = bodies[next] as readonly [number, string]
      const answer = await askAs(gateway, openai)
      t.equal(answer.status, status)
      t.equal(answer.body.toString(), body)
    }
    t.equal(upstream.requests.length, bodies.length, 'none is repeated')
    await settled(gateway, bodies.length)
    t.notOk(gateway.logLines.some(line => line.includes('credential_suspended')))
    t.same(await gateway.chargesOfWork(), [])
    await checkMoney(t, gateway)
  },
)

await t.test('a long error body in pieces is relayed whole', async t => {
  const long = Buffer.from(`{"error":{"message":"${'x'.repeat(300_000)}","code":"invalid_api_key"}}`)
  const { gateway } = await startWithCredentials(t, openai, ['one'], () => ({
    pieces: [
      headLines(401, [...json, 'content-length', String(long.length)]),
      long.subarray(0, 70_000),
      long.subarray(70_000),
    ],
  }))
  const answer = await askAs(gateway, openai)
  t.equal(answer.status, 401)
  t.ok(answer.body.equals(long))
  await settled(gateway, 1)
  await checkMoney(t, gateway)
})

await t.test('a server without a credential receives no key', async t => {
  const { gateway, upstream } = await startWithCredentials(t, openai, [], () => undefined)
  t.equal((await askAs(gateway, openai)).status, 200)
  t.notOk(upstream.requests[0]?.headers.some(name => name.toLowerCase() === 'authorization'))
  t.equal(exchangeEnds(gateway).length, 1)
  await settled(gateway, 1)
  await checkMoney(t, gateway)
})

const keyErrors = {
  openai: [401, '{"error":{"message":"no","type":"invalid_request_error","code":"invalid_api_key"}}'],
  anthropic: [401, '{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'],
  google: [
    400,
    '{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}',
  ],
} as const

await t.test('the SDKs raise credentials_exhausted, and do not retry', async t => {
  for (const dialect of dialectNames) {
    const gateway = await startCountingGateway(t)
    const [status, body] = keyErrors[dialect]
    gateway.upstream.answer = () => plainAnswer(status, json, body)
    for (let count = 1; count <= 2; count += 1) {
      const error = await askBySdk(dialect, gateway)
      checkError(t, dialect, error, 'credentials_exhausted', /no working credential.*Your own key is fine/)
    }
    t.equal((await settled(gateway, 2)).length, 2)
    t.equal(gateway.upstream.requests.length, 1)
    await checkMoney(t, gateway)
  }
})
