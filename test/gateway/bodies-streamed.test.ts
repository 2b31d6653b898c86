import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { send } from '../fixtures/http-client.ts'
import { connectRaw, parseAnswers } from '../fixtures/raw-client.ts'
import { chunked } from '../fixtures/raw-upstream.ts'
import { namesIn } from '../fixtures/spooled-files.ts'
import { startTestGateway, until, type ConfigSections, type TestGateway } from '../fixtures/test-gateway.ts'
import { noHoldIsLeft } from '../fixtures/exchange-ends.ts'

const uploaded = '{"id":"file-1","object":"file","purpose":"user_data"}'
const boundary = 'content-type: multipart/form-data; boundary=b'

interface Seen {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly chunks: Buffer[]
  wasCut: boolean
}

interface Started {
  readonly gateway: TestGateway
  readonly seen: Seen[]
}

/** A gateway before a provider that runs `onRequest`, which by default reads the whole body and then responds. */
async function start(
  t: Test,
  onRequest: (seen: Seen) => void = readAll,
  { limits = {}, credentials = ['key'] }: { limits?: ConfigSections; credentials?: string[] } = {},
): Promise<Started> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const one: Seen = { request, response, chunks: [], wasCut: false }
    request.on('error', () => (one.wasCut = true))
    seen.push(one)
    onRequest(one)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const gateway = await startTestGateway(t, {
    config: {
      limits: { bodyMemoryBytes: '100KB', bodyBytesMax: '1MB', bodyBytesTotalMax: '1MB', ...limits },
      providers: {
        one: { credentials, dialects: { openai: { baseUrl: `http://127.0.0.1:${port}/v1` } } },
      },
      models: { m: { provider: 'one', rubPerMillion: { input: '1', output: '1' } } },
      defaultProvider: { openai: 'one' },
    },
  })
  return { gateway, seen }
}

function readAll(seen: Seen): void {
  seen.request.on('data', (chunk: Buffer) => seen.chunks.push(chunk))
  seen.request.on('end', () => seen.response.end(uploaded))
}

function formOf(content: Buffer): Buffer {
  const head =
    '--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n' +
    '--b\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
  return Buffer.concat([Buffer.from(head), content, Buffer.from('\r\n--b--\r\n')])
}

function headOf({ gateway }: Started, lines: readonly string[], key = gateway.key): string {
  return [
    'POST /v1/files HTTP/1.1',
    'host: g',
    `authorization: Bearer ${key}`,
    boundary,
    ...lines,
    '',
    '',
  ].join('\r\n')
}

async function ended(t: Test, { gateway }: Started): Promise<unknown> {
  const lines = (): unknown[] =>
    gateway.logLines.map(line => JSON.parse(line) as { msg: string }).filter(line => line.msg === 'exchange')
  await until(() => lines().length > 0)
  t.same(await gateway.charges(), [], 'nothing is charged')
  t.same(await gateway.breaches(), [], 'the ledger is in order')
  return lines()[0]
}

await t.test('an upload larger than the limits of bodies is streamed byte for byte', async t => {
  const started = await start(t)
  const body = formOf(randomBytes(4_000_000))
  const { gateway, seen } = started

  const { status, body: answer } = await send(`${gateway.url}/v1/files`, {
    headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'multipart/form-data; boundary=b'],
    body,
  })

  t.equal(status, 200)
  t.equal(answer.toString(), uploaded)
  t.ok(Buffer.concat(seen[0]?.chunks ?? []).equals(body), 'byte for byte')
  t.equal(seen[0]?.request.headers['content-length'], String(body.length), 'its length is announced')
  t.same(namesIn(`${gateway.storeFile}-bodies`), [], 'no file was needed')
  t.match(await ended(t, started), { outcome: 'completed' })
})

await t.test('a chunked upload stays chunked', async t => {
  const started = await start(t)
  const client = await connectRaw(t, started.gateway.url)
  client.socket.write(headOf(started, ['transfer-encoding: chunked', 'connection: close']))
  const form = formOf(Buffer.from('content'))
  const [first, rest] = [form.subarray(0, 100), form.subarray(100)]
  client.socket.write(Buffer.concat(chunked([first]).slice(0, 1)))
  await until(() => (started.seen[0]?.chunks.length ?? 0) > 0)
  client.socket.write(Buffer.concat(chunked([rest])))
  await client.ended

  t.equal(parseAnswers(client.received())[0]?.status, 200)
  t.match(started.seen[0]?.request.headers, { 'transfer-encoding': 'chunked' })
  t.ok(Buffer.concat(started.seen[0]?.chunks ?? []).equals(form))
})

await t.test('an upload pauses while the provider does not read', async t => {
  let read: () => void = () => undefined
  const started = await start(t, one => {
    read = () => readAll(one)
  })
  const body = formOf(Buffer.alloc(48_000_000))
  const client = await connectRaw(t, started.gateway.url)
  client.socket.write(headOf(started, [`content-length: ${body.length}`, 'connection: close']))
  let isSent = false
  client.socket.write(body, () => (isSent = true))
  await until(() => started.seen.length === 1)
  await new Promise(resolve => setTimeout(resolve, 300))
  t.notOk(isSent, 'the client has not sent all of it')
  read()
  await client.ended
  t.equal(parseAnswers(client.received())[0]?.status, 200)
  t.ok(Buffer.concat(started.seen[0]?.chunks ?? []).equals(body))
})

await t.test('100 Continue is sent only after the gates have accepted the request', async t => {
  const started = await start(t)
  const form = formOf(Buffer.from('content'))
  const lines = ['expect: 100-continue', `content-length: ${form.length}`, 'connection: close']
  const stranger = await connectRaw(t, started.gateway.url)
  stranger.socket.write(headOf(started, lines, 'gw-unknown'))
  await stranger.ended
  t.same(
    parseAnswers(stranger.received()).map(({ status }) => status),
    [401],
  )
  t.equal(started.seen.length, 0)

  const client = await connectRaw(t, started.gateway.url)
  client.socket.write(headOf(started, lines))
  await client.waitFor('100 Continue')
  client.socket.write(form)
  await client.ended
  t.same(
    parseAnswers(client.received()).map(({ status }) => status),
    [100, 200],
  )
  t.equal(started.seen[0]?.request.headers.expect, undefined)
})

await t.test(
  'a client that disconnects during an upload aborts the upstream request and is not charged',
  async t => {
    for (const lines of [['content-length: 1000000'], ['transfer-encoding: chunked']]) {
      const started = await start(t)
      const client = await connectRaw(t, started.gateway.url)
      client.socket.write(headOf(started, lines))
      const begun = formOf(Buffer.alloc(500)).subarray(0, 500)
      client.socket.write(Buffer.concat(chunked([begun]).slice(0, 1)))
      await until(() => (started.seen[0]?.chunks.length ?? 0) > 0)
      client.socket.destroy()
      await until(() => started.seen[0]?.wasCut === true)
      t.notOk(started.seen[0]?.request.complete, 'the provider sees an incomplete request')
      t.match(await ended(t, started), { outcome: 'aborted' })
      await noHoldIsLeft(t, started.gateway)
    }
  },
)

await t.test('an upload that stalls is refused with 408, and the upstream request is aborted', async t => {
  const started = await start(t, readAll, { limits: { bodyMs: 1000 } })
  const client = await connectRaw(t, started.gateway.url)
  client.socket.write(headOf(started, ['content-length: 1000000']))
  client.socket.write(formOf(Buffer.alloc(500)).subarray(0, 500))
  await until(() => started.seen[0]?.wasCut === true)
  await client.waitFor('request_timeout')
  t.equal(parseAnswers(client.received())[0]?.status, 408)
  t.match(await ended(t, started), { outcome: 'refused' })
})

await t.test('a response before the end of the upload reaches the client', async t => {
  const refusal = '{"error":{"message":"too large","type":"invalid_request_error"}}'
  const started = await start(t, ({ response }) => {
    response.writeHead(413, { 'content-type': 'application/json', 'content-length': refusal.length })
    response.end(refusal)
  })
  const client = await connectRaw(t, started.gateway.url)
  client.socket.write(headOf(started, ['content-length: 20000000']))
  client.socket.write(formOf(Buffer.alloc(4_000_000)).subarray(0, 3_000_000))
  await client.waitFor(refusal)
  const [answer] = parseAnswers(client.received())
  t.match(answer, { status: 413, isWhole: true })
  t.equal(answer?.headers.get('connection'), 'close', 'nothing can follow on this connection')
  t.match(await ended(t, started), { outcome: 'completed' })
})

await t.test('an upload is sent once: no other credential is tried after its first byte', async t => {
  const started = await start(
    t,
    one => {
      one.request.once('data', () => {
        one.response.writeHead(401, { 'content-type': 'application/json' })
        one.response.end('{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}')
      })
    },
    { credentials: ['first', 'second'] },
  )
  const { gateway, seen } = started
  const { status } = await send(`${gateway.url}/v1/files`, {
    headers: ['authorization', `Bearer ${gateway.key}`, 'content-type', 'multipart/form-data; boundary=b'],
    body: formOf(Buffer.alloc(1000)),
  })
  t.equal(status, 502)
  t.equal(seen.length, 1, 'the provider received one request')
  t.match(await ended(t, started), { outcome: 'refused' })
})
