import t from 'tap'
import { scanJson } from '../../../lib/http/json-scan.ts'
import type { Finding } from '../../../lib/http/json-scan.ts'
import { mediaPartFromBase64, mediaPartFromMultipart } from '../../../lib/http/media-part.ts'
import { scanMultipart } from '../../fixtures/scan-multipart.ts'

const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(20)])
const webm = Buffer.concat([Buffer.from('1a45dfa39f428284', 'hex'), Buffer.from('webm'), Buffer.alloc(30)])

function found(value: unknown): Finding {
  const interest = { members: new Map([['data', { name: 'data', keep: 'base64' as const }]]) }
  const [finding] = scanJson(Buffer.from(JSON.stringify({ data: value })), interest).findings
  if (finding === undefined) throw new Error('no part was found')
  return finding
}

await t.test('the kind of a base64 image comes from its bytes, not from its declared type', async t => {
  t.strictSame(mediaPartFromBase64(found(png.toString('base64')), 'Image/JPEG; q=1'), {
    path: 'data',
    kind: 'image',
    declaredType: 'image/jpeg',
    detectedType: 'image/png',
    bytes: 28,
    encoding: 'base64',
    bodyStart: 8,
    bodyBytes: 42,
  })
  t.strictSame(mediaPartFromBase64(found(`data:image/png;base64,${png.toString('base64')}`)), {
    path: 'data',
    kind: 'image',
    declaredType: 'image/png',
    detectedType: 'image/png',
    bytes: 28,
    encoding: 'dataUrl',
    bodyStart: 8,
    bodyBytes: 64,
  })
  t.equal(mediaPartFromBase64(found(png.toString('base64')), 'text/plain').kind, 'image')
})

await t.test('a URL has no size, and takes its kind from the field or the declared type', async t => {
  t.strictSame(mediaPartFromBase64(found('https://a.b/c'), undefined, 'image'), {
    path: 'data',
    kind: 'image',
    fieldKind: 'image',
    bodyStart: 8,
    bodyBytes: 15,
  })
  t.equal(mediaPartFromBase64(found('gs://a/b'), 'video/mp4').kind, 'video')
})

await t.test('a value that does not decode, or is no string, is invalid', async t => {
  t.match(mediaPartFromBase64(found('not base64!'), 'image/png'), { isInvalid: true, kind: 'image' })
  t.match(mediaPartFromBase64(found(5)), { isInvalid: true, bytes: undefined })
})

await t.test('the declared type decides whether a container is audio or video', async t => {
  const finding = found(webm.toString('base64'))
  t.equal(mediaPartFromBase64(finding, 'audio/webm').kind, 'audio')
  t.equal(mediaPartFromBase64(finding, 'image/png').kind, 'video')
  t.equal(mediaPartFromBase64(finding).kind, 'video')
})

await t.test('a file of a form is measured in place', async t => {
  const head =
    '--b\r\nContent-Disposition: form-data; name="image[]"; filename="a"\r\nContent-Type: image/png\r\n\r\n'
  const body = Buffer.concat([Buffer.from(head), png, Buffer.from('\r\n--b--')])
  const [part] = scanMultipart(body, 'b').parts
  if (part === undefined) throw new Error('no part was found')
  t.strictSame(mediaPartFromMultipart(part), {
    path: 'image[]',
    kind: 'image',
    declaredType: 'image/png',
    detectedType: 'image/png',
    bytes: 28,
    bodyStart: head.length,
    bodyBytes: 28,
  })
})
