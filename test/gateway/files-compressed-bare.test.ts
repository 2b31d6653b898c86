import t from 'tap'
import { encoders } from '../fixtures/encoded-body.ts'
import { googleFileIn, startFilesGateway } from '../fixtures/files-gateway.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { mp4 } from '../fixtures/media/video-files.ts'
import { recordedObject } from '../fixtures/recorded-object.ts'
import { pngOfSides } from '../fixtures/small-images.ts'
import type { TestGateway } from '../fixtures/test-gateway.ts'

/** The body of a request: the bytes of a file as they are sent, and their content encoding. */
interface Sent {
  readonly body: Buffer
  readonly encoding: string
}

function upload(
  { url, key }: TestGateway,
  query: string,
  headers: readonly string[],
  { body, encoding }: Sent,
) {
  return send(`${url}/upload/v1beta/files${query}`, {
    headers: ['x-goog-api-key', key, 'content-encoding', encoding, ...headers],
    body,
  })
}

interface Chunk extends Sent {
  readonly offset: number
}

/** All chunks of a resumable upload, the last of which completes it. */
async function uploadChunks(gateway: TestGateway, chunks: readonly Chunk[]): Promise<ClientAnswer> {
  const begun = await send(`${gateway.url}/upload/v1beta/files`, {
    headers: Object.entries({
      'x-goog-api-key': gateway.key,
      'content-type': 'application/json',
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
      'x-goog-upload-header-content-type': 'video/mp4',
    }).flat(),
    body: '{"file":{"display_name":"a file"}}',
  })
  const address = new URL(String(begun.headers['x-goog-upload-url']))
  let answer = begun
  for (const [index, { body, encoding, offset }] of chunks.entries()) {
    const command = index === chunks.length - 1 ? 'upload, finalize' : 'upload'
    answer = await send(`${gateway.url}${address.pathname}${address.search}`, {
      headers: Object.entries({
        'x-goog-upload-command': command,
        'x-goog-upload-offset': String(offset),
        'content-encoding': encoding,
      }).flat(),
      body,
    })
  }
  return answer
}

const ways: Readonly<Record<string, (gateway: TestGateway, sent: Sent) => Promise<ClientAnswer>>> = {
  'X-Goog-Upload-Protocol: raw': (gateway, sent) =>
    upload(gateway, '', ['x-goog-upload-protocol', 'raw', 'content-type', 'video/mp4'], sent),
  'uploadType=media': (gateway, sent) =>
    upload(gateway, '?uploadType=media', ['content-type', 'video/mp4'], sent),
  'a resumable upload': (gateway, sent) => uploadChunks(gateway, [{ ...sent, offset: 0 }]),
}

/** Bytes that do not compress, behind the part that is measured. */
const noise = Buffer.alloc(300_000)
for (let at = 0, random = 1; at < noise.length; at++) {
  random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0
  noise[at] = random >>> 24
}
const image = Buffer.concat([pngOfSides(300, 200), noise])
const encodeGzip = encoders['gzip'] as (bytes: Buffer) => Buffer
const line = `${JSON.stringify({ key: 'a', request: { contents: [{ parts: [{ text: 'Hi' }] }] } })}\n`

for (const [name, uploadBy] of Object.entries(ways)) {
  await t.test(`${name}: a compressed file is measured, and forwarded unchanged`, async t => {
    const { provider, gateway } = await startFilesGateway(t)
    for (const [encoding, encode] of Object.entries(encoders)) {
      const body = encode(image)
      const answer = await uploadBy(gateway, { body, encoding })
      t.equal(answer.status, 200, answer.body.toString())
      t.match(
        recordedObject(gateway, 'file', googleFileIn(answer).name)?.facts,
        { mediaType: 'image/png', width: 300, height: 200, bytes: image.length },
        encoding,
      )
      const passed = provider.requests.at(-1)
      t.ok(passed?.body.equals(body), 'the same bytes')
      t.equal(passed?.headers['content-encoding'], encoding)
    }
    t.same(await gateway.charges(), [])
  })

  await t.test(`${name}: a compressed video that is too long is refused where it is used`, async t => {
    const models = { gemini: { provider: 'google', rubPerMillion: { input: '1', output: '1' } } }
    const sizeLimit = { 'size-limit': { google: { videoSecondsMax: 60 } } }
    const plugins = ['auth', 'model-router', sizeLimit, 'upstream-proxy', 'usage-tap']
    const { provider, gateway } = await startFilesGateway(t, { models, plugins })
    const use = async (seconds: number): Promise<ClientAnswer> => {
      const video = mp4(seconds, { dataBytes: 300_000, isIndexLast: true })
      const { uri } = googleFileIn(await uploadBy(gateway, { body: encodeGzip(video), encoding: 'gzip' }))
      const parts = [{ fileData: { fileUri: uri, mimeType: 'video/mp4' } }]
      return send(`${gateway.url}/v1beta/models/gemini:generateContent`, {
        headers: ['x-goog-api-key', gateway.key, 'content-type', 'application/json'],
        body: JSON.stringify({ contents: [{ role: 'user', parts }] }),
      })
    }

    const refused = await use(61)
    t.equal(refused.status, 413, refused.body.toString())
    t.match(refused.body.toString(), /61 seconds long, and at most 60/)
    t.notMatch(provider.requests.at(-1)?.path, /generateContent/, 'nothing is sent')
    t.same(await gateway.charges(), [], 'nothing is charged')
    t.equal((await use(60)).status, 200)
    t.equal((await gateway.charges()).length, 1)
    t.match(await gateway.balance(), { heldMicros: 0 })
  })

  const unreadable: readonly (readonly [string, Sent])[] = [
    ['is truncated', { encoding: 'gzip', body: encodeGzip(image).subarray(0, -20) }],
    ['is not compressed', { encoding: 'gzip', body: image }],
    ['unpacks to far more', { encoding: 'gzip', body: encodeGzip(Buffer.alloc(32 << 20)) }],
    ['has an unknown encoding', { encoding: 'rot13', body: image }],
  ]
  await t.test(`${name}: a file that cannot be decoded is forwarded without being measured`, async t => {
    const { provider, gateway } = await startFilesGateway(t)
    for (const [what, sent] of unreadable) {
      const answer = await uploadBy(gateway, sent)
      t.equal(answer.status, 200, `${what}: ${answer.body.toString()}`)
      t.ok(provider.requests.at(-1)?.body.equals(sent.body), 'the same bytes')
      const known = recordedObject(gateway, 'file', googleFileIn(answer).name)
      t.equal(known?.accountId, gateway.accountId)
      t.same(known?.facts, {}, what)
    }
    t.same(await gateway.charges(), [])
  })

  await t.test(`${name}: the requests of a batch are not read from a compressed file`, async t => {
    const { gateway } = await startFilesGateway(t)
    const lines = Buffer.from(line.repeat(2))
    const facts = async (sent: Sent) =>
      recordedObject(gateway, 'file', googleFileIn(await uploadBy(gateway, sent)).name)?.facts
    t.match((await facts({ body: lines, encoding: 'identity' }))?.batch, { requests: 2 })
    t.same(await facts({ body: encodeGzip(lines), encoding: 'gzip' }), { bytes: lines.length })
  })
}

/** Google's own client for storage sends such chunks: offsets count the bytes of the file. */
await t.test('chunks that are compressed separately are measured together', async t => {
  const { provider, gateway } = await startFilesGateway(t)
  const encodeZstd = encoders['zstd'] as (bytes: Buffer) => Buffer
  const chunks = [
    { body: encodeGzip(image.subarray(0, 100_000)), encoding: 'gzip', offset: 0 },
    { body: image.subarray(100_000, 200_000), encoding: 'identity', offset: 100_000 },
    { body: encodeZstd(image.subarray(200_000)), encoding: 'zstd', offset: 200_000 },
  ]
  const answer = await uploadChunks(gateway, chunks)
  t.equal(answer.status, 200, answer.body.toString())
  t.match(recordedObject(gateway, 'file', googleFileIn(answer).name)?.facts, {
    mediaType: 'image/png',
    width: 300,
    height: 200,
    bytes: image.length,
  })
  const passed = provider.requests.slice(-3)
  t.ok(passed.every(({ body }, index) => body.equals(chunks[index]?.body ?? Buffer.alloc(0))))
})

await t.test('a file that was compressed before it was cut into chunks is not measured', async t => {
  const { provider, gateway } = await startFilesGateway(t)
  const packed = encodeGzip(image)
  const half = packed.length >> 1
  const answer = await uploadChunks(gateway, [
    { body: packed.subarray(0, half), encoding: 'gzip', offset: 0 },
    { body: packed.subarray(half), encoding: 'gzip', offset: half },
  ])
  t.equal(answer.status, 200, answer.body.toString())
  const { name } = googleFileIn(answer)
  t.ok(provider.files.get(name)?.bytes.equals(packed), 'the provider received all of it')
  t.same(recordedObject(gateway, 'file', name)?.facts, {})
})

await t.test('after a compressed chunk the requests in later chunks are not read either', async t => {
  const { gateway } = await startFilesGateway(t)
  const bytes = Buffer.from(line)
  const answer = await uploadChunks(gateway, [
    { body: encodeGzip(bytes), encoding: 'gzip', offset: 0 },
    { body: bytes, encoding: 'identity', offset: bytes.length },
  ])
  const facts = recordedObject(gateway, 'file', googleFileIn(answer).name)?.facts
  t.same(facts, { bytes: 2 * bytes.length })
})
