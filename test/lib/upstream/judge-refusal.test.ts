import { gzipSync } from 'node:zlib'
import t from 'tap'
import { judgeRefusal } from '../../../lib/upstream/judge-refusal.ts'

const judge = (kind: string, status: number, body: string | Buffer, headers: string[] = []) =>
  judgeRefusal(kind, { status, headers, contentLength: undefined }, Buffer.from(body))
const openai = (code: string | null, type = 'invalid_request_error', message = 'm'): string =>
  JSON.stringify({ error: { message, type, param: null, code } })

await t.test('a refusal of the key or its billing is about the credential', async t => {
  const cases: readonly (readonly [string, number, string])[] = [
    ['openai', 401, openai('invalid_api_key')],
    ['openai', 401, openai('account_deactivated')],
    ['openai', 429, openai('insufficient_quota', 'insufficient_quota')],
    ['openai', 429, openai('billing_not_active')],
    ['openai', 400, openai('billing_hard_limit_reached')],
    [
      'anthropic',
      401,
      '{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
    ],
    [
      'anthropic',
      400,
      '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}',
    ],
    [
      'google',
      400,
      '[{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]',
    ],
    [
      'google',
      403,
      '{"error":{"code":403,"status":"PERMISSION_DENIED","details":[{"reason":"CONSUMER_SUSPENDED"}]}}',
    ],
    ['deepseek', 402, openai('invalid_request_error', 'unknown_error', 'Insufficient Balance')],
    ['mistral', 401, '{"detail":"Unauthorized"}'],
    ['xai', 400, '{"code":"invalid-argument","error":"Incorrect API key provided: ab."}'],
    ['openrouter', 402, '{"error":{"code":402,"message":"Insufficient credits. Add more"}}'],
    ['somebody', 401, openai('invalid_api_key')],
    ['somebody', 402, ''],
  ]
  for (const [kind, status, body] of cases)
    t.match(judge(kind, status, body), { about: 'credential' }, `${kind} ${body}`)
})

await t.test('a refusal that a client can cause is about its request', async t => {
  const cases: readonly (readonly [string, number, string])[] = [
    ['openai', 400, openai('invalid_api_key')],
    ['openai', 403, openai('insufficient_quota')],
    ['openai', 401, openai('missing_scope', 'invalid_request_error', 'invalid_api_key')],
    ['openai', 404, openai('model_not_found', 'x', 'API_KEY_INVALID')],
    [
      'anthropic',
      401,
      '{"type":"error","error":{"type":"authentication_error","message":"OAuth authentication is currently not supported."}}',
    ],
    ['anthropic', 403, '{"type":"error","error":{"type":"permission_error","message":"invalid x-api-key"}}'],
    ['google', 400, '{"error":{"code":400,"message":"API_KEY_INVALID","status":"INVALID_ARGUMENT"}}'],
    [
      'openrouter',
      402,
      '{"error":{"code":402,"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 10."}}',
    ],
    ['openai', 402, '{"error":'],
    ['openai', 500, openai('invalid_api_key')],
  ]
  for (const [kind, status, body] of cases)
    t.match(judge(kind, status, body), { about: 'request' }, `${kind} ${body}`)
})

await t.test('a refusal of the country is about the country', async t => {
  t.match(judge('openai', 403, openai('unsupported_country_region_territory', 'request_forbidden')), {
    about: 'country',
  })
  const google =
    '{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}'
  t.match(judge('google', 400, google), { about: 'country' })
  t.match(judge('google', 400, google.replace('FAILED_PRECONDITION', 'INVALID_ARGUMENT')), {
    about: 'request',
  })
  const anthropic = '{"error":{"type":"forbidden","message":"Request not allowed"}}'
  t.match(judge('anthropic', 403, anthropic), { about: 'country', code: 'forbidden' })
  for (const [status, body] of [
    [400, anthropic],
    [403, anthropic.replace('forbidden', 'permission_error')],
    [403, anthropic.replace('Request', 'This request is')],
  ] as const)
    t.match(judge('anthropic', status, body), { about: 'request' }, `${status} ${body}`)
})

await t.test('a rate limit has the time to wait', async t => {
  const body = openai('rate_limit_exceeded')
  t.same(judge('openai', 429, body, ['Retry-After', '7']), { about: 'rate', waitMs: 7000 })
  t.same(judge('openai', 429, body, ['retry-after-ms', '250', 'retry-after', '1']), {
    about: 'rate',
    waitMs: 250,
  })
  t.same(judge('openai', 429, body), { about: 'rate', waitMs: 5000 })
  t.same(judge('openai', 429, body, ['retry-after', '999999']), { about: 'rate', waitMs: 600_000 })
  t.same(judge('openai', 429, body, ['retry-after', 'Wed, 21 Oct 2026 07:28:00 GMT']), {
    about: 'rate',
    waitMs: 5000,
  })
  const google = '{"error":{"code":429,"details":[{"@type":"x.RetryInfo","retryDelay":"34.4s"}]}}'
  t.same(judge('google', 429, google), { about: 'rate', waitMs: 34_400 })
})

await t.test('compressed errors are read, damaged and unknown ones are not', async t => {
  const body = gzipSync(openai('invalid_api_key'))
  t.match(judge('openai', 401, body, ['Content-Encoding', 'gzip']), { about: 'credential' })
  t.match(judge('openai', 401, body.subarray(0, 20), ['content-encoding', 'gzip']), { about: 'request' })
  t.match(judge('openai', 401, body, ['content-encoding', 'x-none']), { about: 'request' })
  t.match(judge('openai', 401, gzipSync(Buffer.alloc(2_000_000)), ['content-encoding', 'gzip']), {
    about: 'request',
  })
})
