import t from 'tap'
import { googleFileIn, startFilesGateway } from '../fixtures/files-gateway.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { mp4 } from '../fixtures/media/video-files.ts'
import { pdf } from '../fixtures/media/pdf-files.ts'
import { wav } from '../fixtures/media/audio-files.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { recordedObject } from '../fixtures/recorded-object.ts'
import { pngOfSides } from '../fixtures/small-images.ts'
import { until, type TestGateway } from '../fixtures/test-gateway.ts'

const boundary = '==limit 7=='
const description = '{"file":{"display_name":"a file"}}'

/** The description and the file, as Google's API accepts them in one request. */
function related(file: Buffer, type: string, eol = '\r\n', json = description): Buffer {
  const lines = [
    `--${boundary}`,
    'Content-Type: application/json; charset=UTF-8',
    '',
    json,
    `--${boundary}`,
    `Content-Type: ${type}`,
    'MIME-Version: 1.0',
    'Content-Transfer-Encoding: binary',
    '',
    '',
  ]
  return Buffer.concat([Buffer.from(lines.join(eol)), file, Buffer.from(`${eol}--${boundary}--${eol}`)])
}

const relatedType = `multipart/related; boundary="${boundary}"`

interface Protocol {
  readonly query: string
  readonly headers: readonly string[]
  body(file: Buffer, type: string): Buffer
  contentType(type: string): string
}

const inParts = {
  contentType: () => relatedType,
  body: (file: Buffer, type: string) => related(file, type),
}
const bare = { contentType: (type: string) => type, body: (file: Buffer) => file }
const protocols: Readonly<Record<string, Protocol>> = {
  'X-Goog-Upload-Protocol: multipart': {
    ...inParts,
    query: '',
    headers: ['x-goog-upload-protocol', 'multipart'],
  },
  'uploadType=multipart': { ...inParts, query: '?uploadType=multipart', headers: [] },
  "uploadType=multipart, with the lines of Google's Python client": {
    contentType: () => relatedType,
    body: (file, type) => related(file, type, '\n'),
    query: '?uploadType=multipart',
    headers: [],
  },
  'X-Goog-Upload-Protocol: raw': { ...bare, query: '', headers: ['x-goog-upload-protocol', 'raw'] },
  'uploadType=media': { ...bare, query: '?uploadType=media', headers: [] },
}

const key = ({ key }: TestGateway): readonly string[] => ['x-goog-api-key', key]

function upload(gateway: TestGateway, protocol: Protocol, file: Buffer, type: string): Promise<ClientAnswer> {
  return send(`${gateway.url}/upload/v1beta/files${protocol.query}`, {
    headers: [...key(gateway), ...protocol.headers, 'content-type', protocol.contentType(type)],
    body: protocol.body(file, type),
  })
}

function use(gateway: TestGateway, uri: string, mimeType: string): Promise<ClientAnswer> {
  return send(`${gateway.url}/v1beta/models/gemini-2.5-flash:generateContent`, {
    headers: [...key(gateway), 'content-type', 'application/json'],
    body: JSON.stringify({ contents: [{ role: 'user', parts: [{ fileData: { fileUri: uri, mimeType } }] }] }),
  })
}

const files: readonly (readonly [type: string, file: Buffer, facts: object])[] = [
  ['image/png', pngOfSides(300, 200), { mediaType: 'image/png', width: 300, height: 200 }],
  ['video/mp4', mp4(90, { dataBytes: 300_000, isIndexLast: true }), { mediaType: 'video/mp4', seconds: 90 }],
  ['audio/wav', wav(2), { mediaType: 'audio/wav', seconds: 2 }],
  ['application/pdf', pdf(3, { isPacked: true }), { mediaType: 'application/pdf', pages: 3 }],
  ['text/plain', Buffer.from('Words\r\n--==limit\r\n'), {}],
]

for (const [name, protocol] of Object.entries(protocols)) {
  await t.test(`${name}: a file is measured while it is forwarded unchanged`, async t => {
    const { provider, gateway } = await startFilesGateway(t)
    for (const [type, file, facts] of files) {
      const answer = await upload(gateway, protocol, file, type)
      t.equal(answer.status, 200, answer.body.toString())
      t.ok(provider.requests.at(-1)?.body.equals(protocol.body(file, type)), `${type}: the same bytes`)
      t.ok(
        provider.files.get(googleFileIn(answer).name)?.bytes.equals(file),
        'and the provider finds the same file in them',
      )
      const known = recordedObject(gateway, 'file', googleFileIn(answer).name)
      t.match(known, { accountId: gateway.accountId, facts: { ...facts, bytes: file.length } })
    }
    t.same(await gateway.charges(), [])
  })

  await t.test(`${name}: the measured length limits the use of the file`, async t => {
    const models = {
      'gemini-2.5-flash': { provider: 'google', rubPerMillion: { input: '1', output: '1' } },
    }
    const { provider, gateway } = await startFilesGateway(t, {
      models,
      plugins: [
        'auth',
        'model-router',
        { 'size-limit': { google: { videoSecondsMax: 60 } } },
        'upstream-proxy',
        'usage-tap',
      ],
    })
    const short = googleFileIn(await upload(gateway, protocol, mp4(60), 'video/mp4'))
    const long = googleFileIn(await upload(gateway, protocol, mp4(61), 'video/mp4'))
    const sent = provider.requests.length

    const refused = await use(gateway, long.uri, 'video/mp4')
    t.equal(refused.status, 413, refused.body.toString())
    t.match(refused.body.toString(), /61 seconds long, and at most 60/)
    t.equal(provider.requests.length, sent, 'nothing is sent')
    t.same(await gateway.charges(), [], 'nothing is charged')
    const answer = await use(gateway, short.uri, 'video/mp4')
    t.equal(answer.status, 200, answer.body.toString())
    t.equal((await gateway.charges()).length, 1)
    t.match(await gateway.balance(), { heldMicros: 0 })
  })
}

await t.test('JSON lines uploaded with a description may become a batch', async t => {
  const { gateway } = await startFilesGateway(t)
  const line = `${JSON.stringify({ key: 'a', request: { contents: [{ parts: [{ text: 'Hi' }] }] } })}\n`
  const protocol = protocols['uploadType=multipart'] as Protocol
  const { name } = googleFileIn(
    await upload(gateway, protocol, Buffer.from(line.repeat(2)), 'application/jsonl'),
  )
  t.match(recordedObject(gateway, 'file', name)?.facts.batch, { requests: 2, shares: [{ model: '*' }] })
})

await t.test('a multipart upload is forwarded before it has ended', async t => {
  const { provider, gateway } = await startFilesGateway(t)
  const body = related(mp4(5, { dataBytes: 200_000, isIndexLast: true }), 'video/mp4')
  const client = await connectRaw(t, gateway.url)
  const { socket } = client
  socket.write(
    `POST /upload/v1beta/files?uploadType=multipart HTTP/1.1\r\nhost: g\r\nx-goog-api-key: ${gateway.key}\r\n` +
      `content-type: ${relatedType}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n`,
  )
  const chunk = (bytes: Buffer): void => {
    socket.write(`${bytes.length.toString(16)}\r\n`)
    socket.write(bytes)
    socket.write('\r\n')
  }
  // Around the boundaries byte by byte.
  for (const byte of body.subarray(0, 300)) chunk(Buffer.of(byte))
  chunk(body.subarray(300, 100_000))
  await until(() => provider.begunCount === 1)
  t.equal(provider.requests.length, 0, 'the provider has the beginning of it')
  chunk(body.subarray(100_000, -40))
  for (const byte of body.subarray(-40)) chunk(Buffer.of(byte))
  socket.write('0\r\n\r\n')
  await until(() => provider.requests.length === 1)
  t.ok(provider.requests[0]?.body.equals(body))
  await client.waitFor('"name":')
  const name = /"name":"(files\/\d+)"/.exec(client.received().toString())?.[1] ?? ''
  t.match(recordedObject(gateway, 'file', name)?.facts, { mediaType: 'video/mp4', seconds: 5 })
})

const crlf = related(Buffer.from('Words'), 'text/plain').toString()
const unclear: Readonly<Record<string, string>> = {
  'without an end': crlf.slice(0, crlf.lastIndexOf('\r\n--')),
  'with one part': `--${boundary}\r\ncontent-type: application/json\r\n\r\n${description}\r\n--${boundary}--\r\n`,
  'with three parts': crlf.replace(`--${boundary}--`, `--${boundary}\r\n\r\nmore\r\n--${boundary}--`),
  'with a boundary in another style': crlf.replace('Words', `Words\n--${boundary}\n\nmore`),
  'with text before its first boundary': `--other\r\n\r\n${description}\r\n${crlf}`,
  'whose file is encoded': crlf.replace('binary', 'base64'),
  'whose file is compressed': crlf.replace('MIME-Version: 1.0', 'Content-Encoding: gzip'),
}

for (const [what, body] of Object.entries(unclear)) {
  await t.test(`an upload ${what} is refused before the provider has all of it`, async t => {
    const { provider, gateway } = await startFilesGateway(t)
    const answer = await send(`${gateway.url}/upload/v1beta/files?uploadType=multipart`, {
      headers: [...key(gateway), 'content-type', relatedType],
      body,
    })
    t.equal(answer.status, 400, answer.body.toString())
    t.match(JSON.parse(answer.body.toString()), { error: { status: 'INVALID_ARGUMENT' } })
    t.equal(provider.requests.length, 0)
    t.equal(provider.files.size, 0)
    t.same(await gateway.charges(), [])
  })
}

await t.test('without isolation the client may choose the name, and the file is still measured', async t => {
  const { gateway } = await startFilesGateway(t, { isolation: 'off' })
  const answer = await send(`${gateway.url}/upload/v1beta/files?uploadType=multipart`, {
    headers: [...key(gateway), 'content-type', relatedType],
    body: related(pngOfSides(30, 20), 'image/png', '\r\n', '{"file":{"name":"files/mine"}}'),
  })
  t.equal(answer.status, 200, answer.body.toString())
  t.match(recordedObject(gateway, 'file', googleFileIn(answer).name)?.facts, { width: 30, height: 20 })
})
