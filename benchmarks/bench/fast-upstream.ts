import { createServer, type Socket } from 'node:net'
import { hrtime } from 'node:process'

// A provider that costs almost nothing: it reads only the necessary parts of HTTP and sends prepared bytes. Its
// response depends on a member of the request that every gateway relays, if not always in the same place:
//   "user":"bench:delay=20"             waits 20 ms before it responds
//   "user":"bench:frames=64,rate=48"    an event stream of 64 frames, 48 a second; each frame contains its time

const headEnd = Buffer.from('\r\n\r\n')
const answerBody = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_780_000_000,
    model: 'bench-model',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there!' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 19, completion_tokens: 3, total_tokens: 22 },
    note: 'x'.repeat(60),
  }),
)
const answer = Buffer.concat([
  Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nx-request-id: req_bench\r\nContent-Length: ${answerBody.length}\r\n\r\n`,
  ),
  answerBody,
])
const streamHead =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nx-request-id: req_bench\r\nTransfer-Encoding: chunked\r\n\r\n'

/** One client connection, with one request after another. */
class Connection {
  readonly #socket: Socket
  #pending: Buffer = Buffer.alloc(0)
  /** Bytes of a body that have not arrived yet and are not read. */
  #bodyRest = 0
  #isBodyBegin = false
  #ask = ''
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    // A client that leaves in the middle is part of the measurement.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#timers.forEach(timer => clearInterval(timer)))
  }

  #read(chunk: Buffer): void {
    let data = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    this.#pending = Buffer.alloc(0)
    while (data.length > 0) {
      if (this.#bodyRest > 0) {
        if (this.#isBodyBegin)
          this.#ask = /"user":"bench:([^"]*)"/.exec(data.toString('latin1', 0, 1024))?.[1] ?? ''
        this.#isBodyBegin = false
        const taken = Math.min(this.#bodyRest, data.length)
        this.#bodyRest -= taken
        data = data.subarray(taken)
        if (this.#bodyRest === 0) this.#answer()
        continue
      }
      const end = data.indexOf(headEnd)
      if (end === -1) {
        this.#pending = data
        return
      }
      const head = data.toString('latin1', 0, end)
      data = data.subarray(end + headEnd.length)
      this.#ask = ''
      this.#isBodyBegin = true
      this.#bodyRest = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (this.#bodyRest === 0) this.#answer()
    }
  }

  #answer(): void {
    if (this.#ask === '') {
      this.#socket.write(answer)
      return
    }
    const wishes = new Map(this.#ask.split(',').map(wish => wish.split('=') as [string, string]))
    const frames = Number(wishes.get('frames') ?? 0)
    if (frames > 0) this.#stream(frames, Number(wishes.get('rate')))
    else this.#later(Number(wishes.get('delay')), () => this.#socket.write(answer))
  }

  #stream(frames: number, framesPerSecond: number): void {
    this.#socket.write(streamHead + textFrame(0))
    let sent = 1
    const timer = setInterval(() => {
      if (sent < frames) {
        this.#socket.write(textFrame(sent))
        sent += 1
        return
      }
      clearInterval(timer)
      this.#timers.delete(timer)
      this.#socket.write(`${chunked(usageEvent)}${chunked('data: [DONE]\n\n')}0\r\n\r\n`)
    }, 1000 / framesPerSecond)
    this.#timers.add(timer)
  }

  #later(delayMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      act()
    }, delayMs)
    this.#timers.add(timer)
  }
}

const usageEvent = `data: ${JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion.chunk',
  created: 1_780_000_000,
  model: 'bench-model',
  choices: [],
  usage: { prompt_tokens: 19, completion_tokens: 64, total_tokens: 83 },
})}\n\n`

/** The time is that of the machine's monotonic clock, which all processes share. */
function textFrame(index: number): string {
  const moment = hrtime.bigint().toString().padStart(18, '0')
  return chunked(
    `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1780000000,"model":"bench-model","choices":[{"index":0,"delta":{"content":"@${moment} ${index}"},"finish_reason":null}],"usage":null}\n\n`,
  )
}

function chunked(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

const server = createServer(socket => new Connection(socket))
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', 4096, () => {
  process.send?.({ port: (server.address() as { port: number }).port })
})
