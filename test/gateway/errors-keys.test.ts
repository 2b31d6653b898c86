import t from 'tap'
import { checkNoTrace, startCountingGateway } from '../fixtures/counting-gateway.ts'
import { ask, checkError, dialectNames, type FailingRequest } from '../fixtures/sdk-errors.ts'
import type { ErrorCode } from '../../lib/pipeline/errors.ts'

const gateway = await startCountingGateway(t)
const { accounts, accountId, url } = gateway
const noCredential: FailingRequest = {
  headers: { authorization: null, 'x-api-key': null, 'x-goog-api-key': null },
}

const revoked = await accounts.createKey({ accountId })
await accounts.revokeKey(revoked.id)
const expired = await accounts.createKey({ accountId, expiresAt: Date.now() + 20 })
await new Promise(resolve => setTimeout(resolve, 30))
const elsewhere = await accounts.createKey({ accountId, ipAddresses: ['203.0.113.0/24'] })
const suspended = await accounts.createAccount({ email: 'suspended@example.org' })
const blocked = await accounts.createKey({ accountId: suspended.id })
await accounts.setBlocked({ accountId: suspended.id, isBlocked: true, reason: 'spam', operator: 'olga' })
const limited = await accounts.createKey({ accountId, models: ['other-*'] })

const cases: readonly {
  readonly when: string
  readonly key: string
  readonly request?: FailingRequest
  readonly code: ErrorCode
  readonly message: RegExp
  readonly param?: string
}[] = [
  {
    when: 'no key',
    key: 'x',
    request: noCredential,
    code: 'key_missing',
    message: /^No API key was sent.*Bearer/,
  },
  { when: 'a key of a provider', key: 'sk-proj-1234', code: 'key_invalid', message: /not known here/ },
  { when: 'an invented key', key: `gw-${'A'.repeat(43)}`, code: 'key_invalid', message: /not known here/ },
  {
    when: 'a revoked key',
    key: revoked.key,
    code: 'key_revoked',
    message: new RegExp(`ending in ${revoked.key.slice(-4)} was revoked`),
  },
  {
    when: 'an expired key',
    key: expired.key,
    code: 'key_expired',
    message: new RegExp(`ending in ${expired.key.slice(-4)} has expired`),
  },
  {
    when: 'a key of a blocked account',
    key: blocked.key,
    code: 'account_blocked',
    message: /^The account of this API key is blocked\. Write to the operator/,
  },
  {
    when: 'a key from the wrong address',
    key: elsewhere.key,
    code: 'ip_not_allowed',
    message: /may not be used from 127\.0\.0\.1/,
  },
  {
    when: 'a key for other models',
    key: limited.key,
    code: 'model_not_allowed',
    message: /may not use the model "some-model"; GET \/v1\/models lists those that it may\./,
    param: 'model',
  },
]

for (const { when, key, request, code, message, param } of cases) {
  for (const dialect of dialectNames) {
    await t.test(`${dialect}: ${when} is refused with ${code}`, async t => {
      await checkNoTrace(t, gateway, dialect, async () => {
        const error = await ask(dialect, { url, key }, request)
        checkError(t, dialect, error, code, message, param)
      })
    })
  }
}

await t.test('forwarded headers do not change the address that a key is checked against', async t => {
  const request = { headers: { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=203.0.113.7' } }
  const error = await ask('openai', { url, key: elsewhere.key }, request)
  checkError(t, 'openai', error, 'ip_not_allowed', /from 127\.0\.0\.1/)
})

await t.test('no key is logged', async t => {
  t.notMatch(gateway.logLines.join(''), /gw-[A-Za-z0-9_-]{40}/)
})
