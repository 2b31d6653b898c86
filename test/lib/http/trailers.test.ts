import t from 'tap'
import { responseTrailers } from '../../../lib/http/headers.ts'

const requestHeaders = ['host', 'a', 'TE', 'trailers']
const buffers = (fields: readonly string[]): Buffer[] => fields.map(field => Buffer.from(field, 'latin1'))

await t.test('trailers pass to a client that accepts them with TE', async t => {
  const raw = ['X-Checksum', 'abc', 'server-timing', 'a;dur=1', 'X-Checksum', 'd\u00e9f']
  for (const value of ['trailers', 'Trailers', 'gzip, trailers', 'deflate;q=0.5,trailers ,x', 'trailers;q=1'])
    t.same(responseTrailers(buffers(raw), ['host', 'a', 'TE', value]), raw, value)
  t.same(responseTrailers(buffers(raw), ['te', 'gzip', 'te', 'trailers']), raw)
  for (const value of ['', 'gzip', 'xtrailers', 'trailers2'])
    t.equal(responseTrailers(buffers(raw), ['te', value, 'accept', 'trailers']), undefined, value)
  t.equal(responseTrailers(buffers(raw), []), undefined)
})

await t.test('fields that must not be in trailers are dropped', async t => {
  const raw = [
    ['Content-Length', '5'],
    ['content-encoding', 'gzip'],
    ['Transfer-Encoding', 'chunked'],
    ['set-cookie', 'a=b'],
    ['openai-organization', 'org'],
    ['Location', 'http://elsewhere/'],
    ['Host', 'h'],
    ['trailer', 'x'],
    ['cache-control', 'no-store'],
    ['x-gateway-request-id', 'forged'],
    ['x-bad', 'a\u0001b'],
  ].flat()
  t.same(responseTrailers(buffers([...raw, 'x-good', '1']), requestHeaders), ['x-good', '1'])
  t.equal(responseTrailers(buffers(raw), requestHeaders), undefined)
  t.equal(responseTrailers([], requestHeaders), undefined)
  t.equal(responseTrailers(undefined, requestHeaders), undefined)
})
