import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { openSession } from '../fixtures/session-client.ts'
import { answerResponses, startSessionGateway, type SessionGateway } from '../fixtures/session-gateway.ts'
import { until } from '../fixtures/until.ts'

interface RawSession {
  readonly socket: Socket
  /** All bytes after the head of the response. */
  readonly bytes: () => Buffer
  readonly closed: Promise<void>
}

/** A client that writes frames by hand. */
async function openRaw(t: Test, gateway: SessionGateway): Promise<RawSession> {
  const { hostname, port, pathname, search } = new URL(gateway.realtimeUrl)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined) // Tests also wait for resets.
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  const key = randomBytes(16).toString('base64')
  socket.write(
    `GET ${pathname}${search} HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\nAuthorization: Bearer ${gateway.key}\r\n\r\n`,
  )
  let received = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => (received = Buffer.concat([received, chunk])))
  await until(() => received.includes('\r\n\r\n'))
  const head = received.toString('latin1', 0, received.indexOf('\r\n\r\n'))
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  t.match(head, `HTTP/1.1 101`)
  t.ok(head.toLowerCase().includes(`sec-websocket-accept: ${accept}`.toLowerCase()))
  return { socket, closed, bytes: () => received.subarray(received.indexOf('\r\n\r\n') + 4) }
}

/** A masked frame. */
function frame(first: number, text: string | Buffer): Buffer {
  const payload = Buffer.from(text)
  const mask = Buffer.from([1, 2, 3, 4])
  const head =
    payload.length < 126
      ? Buffer.from([first, 0x80 | payload.length])
      : Buffer.from([first, 0x80 | 126, payload.length >> 8, payload.length & 0xff])
  return Buffer.concat([head, mask, payload.map((byte, index) => byte ^ (mask[index % 4] as number))])
}

/** The close code in the received bytes. */
function closeCode(bytes: Buffer): number | undefined {
  for (let index = 0; index + 3 < bytes.length;) {
    const length = bytes[index + 1] as number
    const [headBytes, size] = length === 126 ? [4, bytes.readUInt16BE(index + 2)] : [2, length]
    if (bytes[index] === 0x88) return bytes.readUInt16BE(index + headBytes)
    index += headBytes + size
  }
  return undefined
}

const text = 0x81
const huge = Buffer.from([text, 0x80 | 127, 0, 0, 0, 0, 0x80, 0, 0, 0, 1, 2, 3, 4])

await t.test('frames that RFC 6455 or the limits forbid end the session with the code for it', async t => {
  const gateway = await startSessionGateway(t, answerResponses, {
    config: { limits: { session: { messageBytesMax: 2000 } } },
  })
  const cases: readonly (readonly [string, Buffer, number])[] = [
    ['2 GB announced', huge, 1009],
    [
      'fragments that are too long together',
      Buffer.concat([frame(0x01, 'x'.repeat(1900)), frame(0x80, 'x'.repeat(1900))]),
      1009,
    ],
    ['not masked', Buffer.from([text, 2, 0x7b, 0x7d]), 1002],
    ['a reserved bit', frame(0xc1, '{}'), 1002],
    ['an unknown opcode', frame(0x83, '{}'), 1002],
    ['a fragment of nothing', frame(0x80, '{}'), 1002],
    ['a long ping', frame(0x89, 'x'.repeat(126)), 1002],
    ['text that is no UTF-8', frame(text, Buffer.from([0xff, 0xfe])), 1007],
  ]
  for (const [name, bytes, code] of cases) {
    const { socket, closed, bytes: received } = await openRaw(t, gateway)
    socket.write(bytes)
    await until(() => closeCode(received()) !== undefined)
    t.equal(closeCode(received()), code, name)
    socket.end()
    await closed
  }
  const sent = gateway.upstream.sessions.flatMap(session => session.received)
  t.same(sent, [], 'the provider received none of it')
  t.same(await gateway.charges(), [])
})

await t.test('invalid JSON is refused with an error, and the session continues', async t => {
  const gateway = await startSessionGateway(t, answerResponses)
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  const bad = [
    'no json',
    '[]',
    '"x"',
    '{"type":"a","type":"response.create"}',
    '{"ty\\u0070e":"a","type":"b"}',
    '{'.repeat(5000),
  ]
  for (const [index, message] of bad.entries()) {
    client.send(message)
    await until(() => client.received.filter(line => line.includes('"type":"error"')).length === index + 1)
    t.match(client.received.at(-1), /body_invalid|field_ambiguous/, message.slice(0, 40))
  }
  client.send({ type: 'response.create' })
  await client.next('response.done')
  t.same(gateway.upstream.sessions[0]?.received, ['{"type":"response.create"}'])
})

await t.test(
  'fragments, control frames between them and pieces of frames arrive as they were sent',
  async t => {
    const gateway = await startSessionGateway(t, () => undefined)
    const { socket, bytes } = await openRaw(t, gateway)
    const [session] = gateway.upstream.sessions
    const pings: string[] = []
    session?.socket.on('ping', (data: Buffer) => pings.push(data.toString()))
    const all = Buffer.concat([
      frame(0x01, '{"type":'),
      frame(0x89, 'in between'),
      frame(0x00, '"x",'),
      frame(0x80, '"y":1}'),
      frame(0x89, 'after'),
    ])
    for (const byte of all) socket.write(Buffer.from([byte]))
    await until(() => session?.received.length === 1 && pings.length === 2)
    t.same(session?.received, ['{"type":"x","y":1}'])
    t.same(pings, ['in between', 'after'])
    await until(() => bytes().includes('after'))
    t.ok(bytes().includes(Buffer.from('in between')), 'the pongs came back')
  },
)

await t.test('a client that does not read pauses the provider', async t => {
  const message = JSON.stringify({ type: 'noise', text: 'x'.repeat(60_000) })
  let sent = 0
  const gateway = await startSessionGateway(t, ({ socket }) => {
    const more = (): void => {
      if (sent >= 2000 || socket.readyState !== socket.OPEN) return
      sent += 1
      socket.send(message, more)
    }
    more()
  })
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  client.socket.pause()
  let before = -1
  await until(async () => {
    const isStill = before === sent
    before = sent
    await new Promise(resolve => setTimeout(resolve, 50))
    return isStill
  })
  t.ok(sent < 1000, `the provider was stopped after ${sent} of 2000 messages`)
  client.socket.resume()
  await until(() => client.received.length === 2000)
})

await t.test('a session ends when it is idle, and at its maximum duration', async t => {
  const idle = await startSessionGateway(t, answerResponses, {
    config: { limits: { session: { idleMs: 100 } } },
  })
  const client = await openSession(t, idle.realtimeUrl, { key: idle.key })
  t.match(await client.closed, { code: 1001, reason: /Nothing was said/ })
  const short = await startSessionGateway(t, answerResponses, {
    config: { limits: { session: { sessionMs: 100 } } },
  })
  const other = await openSession(t, short.realtimeUrl, { key: short.key })
  t.match(await other.closed, { code: 1001, reason: /as long as it may/ })
  t.match(other.received.at(-1), 'request_timeout')
})

await t.test('a drain lets the running turn end, and begins none', async t => {
  const gateway = await startSessionGateway(t, ({ socket }) => {
    socket.once('message', () => socket.send('{"type":"response.created","response":{"id":"r"}}'))
  })
  const busy = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  const resting = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  busy.send({ type: 'response.create' })
  await busy.next('response.created')
  const closing = gateway.gateway.close(10_000)
  t.equal((await resting.closed).code, 1001)
  t.equal(busy.socket.readyState, busy.socket.OPEN)
  gateway.upstream.sessions[0]?.socket.send(
    '{"type":"response.done","response":{"id":"r","status":"failed"}}',
  )
  t.equal((await busy.closed).code, 1001)
  t.match(busy.received.at(-2), 'response.done')
  await closing
})

await t.test('a drain cuts running turns at its deadline', async t => {
  const gateway = await startSessionGateway(t, ({ socket }) => {
    socket.once('message', () => socket.send('{"type":"response.created","response":{"id":"r"}}'))
  })
  const client = await openSession(t, gateway.realtimeUrl, { key: gateway.key })
  client.send({ type: 'response.create' })
  await client.next('response.created')
  const closing = gateway.gateway.close(50)
  t.equal((await client.closed).code, 1001)
  await closing
})

await t.test('an invalid handshake is refused', async t => {
  const gateway = await startSessionGateway(t, answerResponses)
  for (const line of [
    'Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    'Sec-WebSocket-Version: 13',
  ]) {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    socket.write(
      `GET /v1/realtime?model=gpt-realtime HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${line}\r\nAuthorization: Bearer ${gateway.key}\r\n\r\n`,
    )
    const [answer] = (await once(socket, 'data')) as [Buffer]
    t.match(answer.toString(), /^HTTP\/1.1 400 /)
    socket.destroy()
  }
})
