import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'

// Attacks from a thread of its own, so that making them does not count as the gateway's delay, until it is terminated.

export interface AttackOrder {
  readonly attack: keyof typeof attacks
  readonly url: string
  readonly key: string
  /** How many clients attack at once. */
  readonly clients: number
}

const { attack, url, key, clients } = workerData as AttackOrder
const { hostname, port } = new URL(url)
let sent = 0

// The priority of this thread, on Linux. Two cores also serve the gateway, the other clients and their provider, and
// the attacker has no core of its own: it yields to them.
setPriority(19)

/** Writes the bytes repeatedly, as fast as they are accepted, on one connection after another. */
function pour(bytes: Buffer, hello?: { readonly head: string; readonly until: string }): void {
  const socket: Socket = connect({ host: hostname, port: Number(port) })
  const write = (): void => {
    while (socket.writable && socket.write(bytes)) sent += 1
  }
  let received = ''
  let isOpen = hello === undefined
  socket.on('data', chunk => {
    if (isOpen) return
    received += chunk.toString('latin1')
    if (!received.includes(hello?.until ?? '')) return
    isOpen = true
    write()
    socket.on('drain', write)
  })
  socket.on('error', () => undefined) // The close follows.
  socket.on('close', () => setTimeout(() => pour(bytes, hello), 50))
  if (hello !== undefined) socket.write(hello.head)
  else {
    socket.on('connect', write)
    socket.on('drain', write)
  }
}

function get(path: string, padding = 0): Buffer {
  const pad = padding === 0 ? '' : `x-padding: ${'a'.repeat(padding)}\r\n`
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${key}\r\n${pad}\r\n`)
}

function post(path: string, body: string, type = 'application/json'): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${key}\r\norigin: ${url}\r\ncontent-type: ${type}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/** A masked frame of a client; the mask is zero, which is allowed. */
function frame(opcode: number, isLast: boolean, payload = ''): Buffer {
  const head = Buffer.from([(isLast ? 0x80 : 0) | opcode, 0x80 | payload.length, 0, 0, 0, 0])
  return Buffer.concat([head, Buffer.from(payload)])
}

const many = (count: number, bytes: Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, () => bytes))

const session = {
  head:
    `GET /v1/realtime?model=gpt-realtime HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${key}\r\nconnection: upgrade\r\n` +
    `upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  until: '\r\n\r\n',
}

const chat = JSON.stringify({ model: 'evil', messages: [{ role: 'user', content: 'x' }] })
const attacks = {
  pings: () => pour(many(10_000, frame(9, true)), session),
  pongs: () => pour(many(10_000, frame(10, true)), session),
  'empty messages': () => pour(many(10_000, frame(1, true)), session),
  'small messages': () => pour(many(10_000, frame(1, true, '{"type":"input_audio_buffer.clear"}')), session),
  'empty fragments': () =>
    pour(Buffer.concat([frame(1, false), many(4000, frame(0, false)), frame(0, true)]), session),
  charges: () => pour(many(20, get('/gateway/v1/charges?limit=1000&since=2026-11-01', 12_000))),
  'one charge': () => pour(many(100, get(`/gateway/v1/charges/${'0'.repeat(26)}`))),
  balances: () => pour(many(100, get('/gateway/v1/balance'))),
  'lists of models': () => pour(many(100, get('/v1/models'))),
  quotes: () => pour(many(100, post('/gateway/v1/quote', chat))),
  'refused keys': () => pour(many(100, Buffer.from('GET /v1/models HTTP/1.1\r\nhost: g\r\n\r\n'))),
  'unknown paths': () => pour(many(100, get('/v1/nothing'))),
  'free operations': () => pour(many(100, post('/v1/moderations', '{"model":"evil","input":"x"}'))),
  'requests without money': () => pour(many(100, post('/v1/chat/completions', chat))),
  'sign-in pages': () => pour(many(100, get('/sign-in'))),
  'sign-up pages': () => pour(many(100, get('/sign-up', 8000))),
  'pages of strangers': () => pour(many(100, get('/charges?next=x'))),
  passwords: () =>
    pour(
      many(
        20,
        post(
          '/sign-in',
          'email=a%40example.org&password=wrong-password-1',
          'application/x-www-form-urlencoded',
        ),
      ),
    ),
} as const

for (let client = 0; client < clients; client += 1) attacks[attack]()
parentPort?.on('message', () => {
  parentPort?.postMessage(sent)
  process.exit()
})
