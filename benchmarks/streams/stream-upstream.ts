import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { Frames } from './frames.ts'
import { readWishes, type StreamWishes } from './wishes.ts'

// A provider of event streams that costs almost nothing, in every format, over TCP or TLS (`stream-upstream.ts
// CERTIFICATE KEY`). A stream continues until its client leaves or the parent sends "end".

const tickMs = 1
const head =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nx-request-id: req_bench\r\nTransfer-Encoding: chunked\r\n\r\n'

function chunked(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

class Stream {
  readonly #socket: Socket
  readonly #frames: Frames
  readonly #wishes: StreamWishes
  readonly #intervalMs: number
  #dueMs: number
  readonly #rest: string[] = []

  constructor(socket: Socket, wishes: StreamWishes) {
    this.#socket = socket
    this.#wishes = wishes
    this.#frames = new Frames(wishes.format, wishes.frameBytes)
    this.#intervalMs = (1000 * wishes.joined) / wishes.framesPerSecond
    // Streams that were requested together do not tick together.
    this.#dueMs = performance.now() + Math.random() * this.#intervalMs
    socket.write(head + (this.#frames.first === '' ? '' : chunked(this.#frames.first)))
  }

  tick(nowMs: number): void {
    const piece = this.#rest.shift()
    if (piece !== undefined) this.#socket.write(piece)
    if (nowMs < this.#dueMs) return
    this.#dueMs += this.#intervalMs
    const { joined, pieces } = this.#wishes
    let text = ''
    for (let count = 0; count < joined; count++) text += chunked(this.#frames.next())
    framesSent += joined
    if (pieces === 1) {
      this.#socket.write(text)
      return
    }
    const length = Math.ceil(text.length / pieces)
    this.#rest.push(...Array.from({ length: pieces }, (_, at) => text.slice(at * length, (at + 1) * length)))
  }

  end(): void {
    for (const piece of this.#rest.splice(0)) this.#socket.write(piece)
    this.#socket.write(`${chunked(this.#frames.last)}0\r\n\r\n`)
  }
}

let framesSent = 0
const streams = new Map<Socket, Stream>()

function serve(socket: Socket): void {
  let request = ''
  socket.setNoDelay(true)
  socket.on('data', (chunk: Buffer) => {
    request += chunk.toString('latin1')
    const headEnd = request.indexOf('\r\n\r\n')
    if (headEnd === -1) return
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(request)?.[1] ?? 0)
    const body = request.slice(headEnd + 4)
    if (body.length < length) return
    request = ''
    streams.set(socket, new Stream(socket, readWishes(body)))
  })
  // A client that leaves in the middle is part of the measurement.
  socket.on('error', () => socket.destroy())
  socket.on('close', () => streams.delete(socket))
}

setInterval(() => {
  const nowMs = performance.now()
  for (const stream of streams.values()) stream.tick(nowMs)
}, tickMs)

process.on('message', () => {
  for (const stream of streams.values()) stream.end()
  streams.clear()
  process.send?.(framesSent)
  framesSent = 0
})

const [, , certificate, key] = process.argv
const server =
  certificate === undefined || key === undefined
    ? createServer(serve)
    : createTlsServer({ cert: readFileSync(certificate), key: readFileSync(key) }, serve)
server.listen(0, '127.0.0.1', 4096, () => {
  process.send?.({ port: (server.address() as { port: number }).port })
})
