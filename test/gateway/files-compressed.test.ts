import t, { type Test } from 'tap'
import { batchLine } from '../fixtures/batch-clients.ts'
import { batchConfig, costOf } from '../fixtures/batch-gateway.ts'
import { startBatchProvider } from '../fixtures/batch-provider.ts'
import { callConfig } from '../fixtures/dialect-call.ts'
import { encoders } from '../fixtures/encoded-body.ts'
import { startFilesProvider, type FilesProvider } from '../fixtures/files-provider.ts'
import { send, type ClientAnswer } from '../fixtures/http-client.ts'
import { connectRaw } from '../fixtures/raw-client.ts'
import { recordedObject } from '../fixtures/recorded-object.ts'
import { pngOfSides } from '../fixtures/small-images.ts'
import { startTestGateway, until, type TestGateway } from '../fixtures/test-gateway.ts'

const boundary = 'limit'
const contentType = `multipart/form-data; boundary=${boundary}`
const credit = 1_000_000_000

function form(file: Buffer, purpose: string): Buffer {
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\n${purpose}\r\n--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`
  return Buffer.concat([Buffer.from(head), file, Buffer.from(`\r\n--${boundary}--\r\n`)])
}

function upload(gateway: TestGateway, encoding: string, body: Buffer): Promise<ClientAnswer> {
  const { url, key } = gateway
  return send(`${url}/v1/files`, {
    headers: ['authorization', `Bearer ${key}`, 'content-type', contentType, 'content-encoding', encoding],
    body,
  })
}

/** The same upload without a length, in pieces. */
async function uploadInPieces(
  t: Test,
  gateway: TestGateway,
  encoding: string,
  body: Buffer,
): Promise<Buffer> {
  const client = await connectRaw(t, gateway.url)
  client.socket.write(
    `POST /v1/files HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${gateway.key}\r\nconnection: close\r\n` +
      `content-type: ${contentType}\r\ncontent-encoding: ${encoding}\r\ntransfer-encoding: chunked\r\n\r\n`,
  )
  for (let at = 0; at < body.length; at += 7000) {
    const piece = body.subarray(at, at + 7000)
    client.socket.write(`${piece.length.toString(16)}\r\n`)
    client.socket.write(piece)
    client.socket.write('\r\n')
  }
  client.socket.write('0\r\n\r\n')
  await client.ended
  return client.received()
}

function post(gateway: TestGateway, path: string, body: unknown): Promise<ClientAnswer> {
  return send(gateway.url + path, {
    headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'application/json'],
    body: JSON.stringify(body),
  })
}

const idIn = (text: string): string => /"id":"(file-\d+)"/.exec(text)?.[1] ?? ''
const batchOf = (id: string): object => ({
  input_file_id: id,
  endpoint: '/v1/chat/completions',
  completion_window: '24h',
})
const lines = Buffer.from(['a', 'b', 'c'].map(id => batchLine(id, 'gpt-5-nano')).join(''))
const never = 3_600_000

for (const [encoding, encode] of Object.entries(encoders)) {
  await t.test(
    `${encoding}: a batch of a compressed file has the same hold and charge as one of a plain file`,
    async t => {
      const provider = await startBatchProvider(t)
      const plain = await startTestGateway(t, { config: batchConfig(provider.origin, never) })
      const plainId = idIn((await upload(plain, 'identity', form(lines, 'batch'))).body.toString())
      t.equal((await post(plain, '/v1/batches', batchOf(plainId))).status, 200)
      const { heldMicros } = await plain.balance()
      const gateway = await startTestGateway(t, { config: batchConfig(provider.origin, 20) })
      const sent = await upload(gateway, encoding, encode(form(lines, 'batch')))
      t.equal(sent.status, 200, sent.body.toString())
      const made = await post(gateway, '/v1/batches', batchOf(idIn(sent.body.toString())))
      t.equal(made.status, 200, made.body.toString())

      t.ok(heldMicros > 0)
      t.match(await gateway.balance(), { balanceMicros: credit, heldMicros })
      provider.finish(provider.lastBatch())
      await until(async () => (await gateway.charges()).length > 0, 30_000)
      t.match(await gateway.balance(), { balanceMicros: credit - costOf([0, 1, 2]), heldMicros: 0 })
      t.same(await gateway.breaches(), [])
    },
  )
}

interface Started {
  readonly provider: FilesProvider
  readonly gateway: TestGateway
}

async function start(t: Test): Promise<Started> {
  const provider = await startFilesProvider(t)
  return { provider, gateway: await startTestGateway(t, { config: callConfig(provider.origin, {}) }) }
}

await t.test('a compressed file is measured, and forwarded unchanged', async t => {
  const { provider, gateway } = await start(t)
  // An image of one colour, followed by bytes that do not compress.
  const noise = Buffer.alloc(300_000)
  for (let at = 0; at < noise.length; at++) noise[at] = (at * at * 31 + (at >> 3) * 17) & 0xff
  const file = Buffer.concat([pngOfSides(300, 200), noise])
  for (const [encoding, encode] of Object.entries(encoders)) {
    const body = encode(form(file, 'vision'))
    const whole = (await upload(gateway, encoding, body)).body.toString()
    const inPieces = (await uploadInPieces(t, gateway, encoding, body)).toString()
    for (const text of [whole, inPieces]) {
      const facts = recordedObject(gateway, 'file', idIn(text))?.facts
      t.match(facts, { mediaType: 'image/png', width: 300, height: 200, bytes: file.length }, encoding)
    }
    for (const { body: passed, headers } of provider.requests.slice(-2)) {
      t.ok(passed.equals(body), 'the same bytes')
      t.equal(headers['content-encoding'], encoding)
    }
  }
  t.same(await gateway.charges(), [])
})

const encodeGzip = encoders['gzip'] as (bytes: Buffer) => Buffer
const encodeBrotli = encoders['br'] as (bytes: Buffer) => Buffer
const good = form(lines, 'batch')
const long = Buffer.alloc(600_000, 'x')
const refused: readonly (readonly [string, string, Buffer, number, RegExp])[] = [
  ['is truncated', 'gzip', encodeGzip(good).subarray(0, -20), 400, /not valid gzip/],
  ['is not compressed', 'gzip', good, 400, /not valid gzip/],
  ['is not compressed and is long', 'gzip', form(long, 'batch'), 400, /not valid gzip/],
  ['has bytes behind its end', 'br', Buffer.concat([encodeBrotli(good), long]), 400, /not valid br/],
  ['has a truncated form', 'gzip', encodeGzip(good.subarray(0, -10)), 400, /closing boundary/],
  ['expands too far', 'gzip', encodeGzip(form(Buffer.alloc(32 << 20), 'batch')), 413, /more than 250 times/],
  ['has an unknown encoding', 'rot13', good, 400, /"rot13" is not known/],
]

for (const [what, encoding, body, status, message] of refused) {
  await t.test(`a compressed upload that ${what} is refused before the provider has all of it`, async t => {
    const { provider, gateway } = await start(t)
    const whole = await upload(gateway, encoding, body)
    t.equal(whole.status, status, whole.body.toString())
    t.match(whole.body.toString().replaceAll('\\"', '"'), message)
    const inPieces = (await uploadInPieces(t, gateway, encoding, body)).toString()
    t.match(inPieces, new RegExp(`^HTTP/1.1 ${status} `))
    t.equal(provider.requests.length, 0)
    t.equal(provider.files.size, 0)
    t.same(await gateway.charges(), [])
  })
}
