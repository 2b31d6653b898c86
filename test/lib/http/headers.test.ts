import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  responseHeaders,
  latin1Headers,
  checkFraming,
  headerValues,
  headerValue,
  requestHeaders,
} from '../../../lib/http/headers.ts'

const dropped = [
  'Authorization',
  'x-api-key',
  'X-Goog-Api-Key',
  'api-key',
  'Proxy-Authorization',
  'Cookie',
  'Forwarded',
  'X-Forwarded-For',
  'x-forwarded-anything',
  'X-Real-IP',
  'Via',
  'True-Client-IP',
  'CF-Connecting-IP',
  'OpenAI-Organization',
  'openai-project',
  'x-goog-user-project',
  'Connection',
  'Keep-Alive',
  'TE',
  'Trailer',
  'Transfer-Encoding',
  'Upgrade',
  'Proxy-Connection',
  'Content-Length',
  'Host',
  'Expect',
]
const passed = [
  'anthropic-beta',
  'Anthropic-Version',
  'Content-Type',
  'Accept-Encoding',
  'Idempotency-Key',
  'User-Agent',
  'x-goog-upload-protocol',
  'X-Stainless-Lang',
  'traceparent',
  'X-Forward',
  'api-keys',
  'x-api',
]

await t.test('listed request headers are dropped, and all others pass unchanged', async t => {
  for (const name of dropped) t.same(requestHeaders([name, 'v']), [], name)
  for (const name of passed) t.same(requestHeaders([name, 'v']), [name, 'v'], name)
})

await t.test('headers that pass keep their order, case, duplicates and bytes', async t => {
  const names = fc.constantFrom(...dropped, ...passed, 'ANTHROPIC-BETA', 'x-A', 'X-a')
  const lower = new Set(dropped.map(name => name.toLowerCase()))
  fc.assert(
    fc.property(fc.array(fc.tuple(names, fc.string())), pairs => {
      const kept = pairs.filter(([name]) => !lower.has(name.toLowerCase()))
      const named = pairs
        .filter(([name]) => name === 'Connection')
        .flatMap(([, value]) => value.toLowerCase().split(','))
      const expected = kept.filter(([name]) => !named.some(other => other.trim() === name.toLowerCase()))
      assert.deepEqual(requestHeaders(pairs.flat()), expected.flat())
    }),
  )
  t.end()
})

await t.test('headers that Connection names are dropped in both directions', async t => {
  const raw = [
    'X-Hop',
    '1',
    'Connection',
    'close, x-hop',
    'X-Other',
    '2',
    'connection',
    'X-Third',
    'x-third',
    '3',
  ]
  t.same(requestHeaders(raw), ['X-Other', '2'])
  t.same(responseHeaders(raw), ['X-Other', '2'])
  t.same(requestHeaders(['Connection', 'keep-alive', 'x', '1']), ['x', '1'])
})

await t.test('a response loses cookies, the ids of the provider’s account and framing', async t => {
  for (const name of [
    'Set-Cookie',
    'alt-svc',
    'OpenAI-Organization',
    'openai-project',
    'anthropic-organization-id',
    'anthropic-workspace-id',
    'X-Goog-Upload-Header-Content-Length',
    'Content-Length',
    'transfer-encoding',
    'Trailer',
    'connection',
    'keep-alive',
    'X-Gateway-Request-Id',
    'Proxy-Authenticate',
  ]) {
    t.same(responseHeaders([name, 'v', 'x-request-id', 'r']), ['x-request-id', 'r'], name)
  }
  const kept = [
    'Content-Encoding',
    'br',
    'x-ratelimit-limit',
    '1',
    'X-Goog-Upload-URL',
    'u',
    'request-id',
    'r',
    'Vary',
    'a',
    'vary',
    'b',
  ]
  t.same(responseHeaders(kept), kept)
})

await t.test('every byte of a value in a buffer is preserved', async t => {
  const value = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
  const raw = latin1Headers([Buffer.from('X-Bytes'), value, Buffer.from('SET-COOKIE'), value])
  const [name, text] = responseHeaders(raw)
  t.equal(name, 'X-Bytes')
  t.ok(Buffer.from(text ?? '', 'latin1').equals(value))
  t.same(responseHeaders([]), [])
})

await t.test('values are found by name in any case, the first of several or all', async t => {
  const raw = ['Content-Type', 'a', 'X-A', 'content-type', 'CONTENT-TYPE', 'b']
  t.equal(headerValue(raw, 'content-type'), 'a')
  t.same(headerValues(raw, 'content-type'), ['a', 'b'])
  t.equal(headerValue(raw, 'content'), undefined)
  t.same(headerValues(raw, 'content'), [])
})

await t.test('framing that two parsers could read differently is refused', async t => {
  for (const [raw, reason] of [
    [['Host', 'a', 'HOST', 'a'], /more than one Host/],
    [['Content-Length', '1', 'content-length', '1'], /more than one Content-Length/],
    [['Content-Length', '1, 1'], /plain number/],
    [['Content-Length', '+1'], /plain number/],
    [['Content-Length', ''], /plain number/],
    [['Content-Length', '1', 'Transfer-Encoding', 'chunked'], /both/],
    [['Transfer-Encoding', 'chunked', 'Transfer-Encoding', 'chunked'], /more than one Transfer/],
    [['Transfer-Encoding', 'gzip, chunked'], /only Transfer-Encoding/],
    [['Transfer-Encoding', 'identity'], /only Transfer-Encoding/],
    [['Transfer-Encoding', 'xchunked'], /only Transfer-Encoding/],
    [['X', 'a\r\n b'], /line break/],
    [['X', 'a\nb'], /line break/],
    [['X', 'a\0b'], /NUL/],
  ] as const) {
    t.match(checkFraming(['Accept', '*/*', ...raw]), reason, JSON.stringify(raw))
  }
  t.equal(checkFraming(['Host', 'a', 'Content-Length', '0']), undefined)
  t.equal(checkFraming(['Host', 'a', 'transfer-encoding', 'Chunked', 'x', '', 'x', '']), undefined)
})
