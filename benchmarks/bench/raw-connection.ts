import { connect, type Socket } from 'node:net'

/** The target of a request, and its bytes. */
export interface Shot {
  readonly port: number
  readonly bytes: Buffer
}

/** The response. Times are milliseconds of `performance.now()`. */
export interface Answer {
  readonly status: number
  readonly firstByteMs: number
  readonly endMs: number
}

const headEnd = Buffer.from('\r\n\r\n')
const lastChunk = Buffer.from('\r\n0\r\n\r\n')

/**
 * One keep-alive connection with one request at a time in progress. It reads as little of HTTP as it can,
 * since it shares a core with the upstream: a length, or the last chunk.
 */
export class RawConnection {
  readonly #socket: Socket
  #head: Buffer = Buffer.alloc(0)
  /** Bytes of the response that have not arrived yet; undefined while the head is read. */
  #rest: number | undefined
  #status = 0
  #firstByteMs = 0
  #tail: Buffer = Buffer.alloc(0)
  #onAnswer: (answer: Answer) => void = () => undefined
  #onFailure: (error: Error) => void = () => undefined
  /** Called with an event stream's bytes as they arrive. */
  onStreamData: ((chunk: Buffer) => void) | undefined

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk))
    this.#socket.on('error', error => this.#onFailure(error))
    this.#socket.on('close', () => this.#onFailure(new Error('The connection was closed.')))
  }

  /** Sends a request; one response or one failure follows. */
  send(bytes: Buffer, onAnswer: (answer: Answer) => void, onFailure: (error: Error) => void): void {
    this.#onAnswer = onAnswer
    this.#onFailure = onFailure
    this.#firstByteMs = 0
    this.#socket.write(bytes)
  }

  ask(bytes: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => this.send(bytes, resolve, reject))
  }

  close(): void {
    this.#onFailure = () => undefined
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    if (this.#firstByteMs === 0) this.#firstByteMs = performance.now()
    let data = chunk
    if (this.#rest === undefined) {
      const all = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk])
      const end = all.indexOf(headEnd)
      if (end === -1) {
        this.#head = all
        return
      }
      this.#head = Buffer.alloc(0)
      const head = all.toString('latin1', 0, end)
      this.#status = Number(head.slice(9, 12))
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
      this.#rest = length === undefined ? Number.POSITIVE_INFINITY : Number(length)
      data = all.subarray(end + headEnd.length)
    }
    if (this.#rest === Number.POSITIVE_INFINITY) this.#readChunked(data)
    else {
      this.#rest -= data.length
      if (this.#rest <= 0) this.#finish()
    }
  }

  /** The end of a chunked response is searched for, not parsed: frames of the benchmark never look like it. */
  #readChunked(data: Buffer): void {
    this.onStreamData?.(data)
    const seen = Buffer.concat([this.#tail, data.subarray(-lastChunk.length)])
    this.#tail = seen.subarray(-lastChunk.length)
    if (this.#tail.equals(lastChunk)) this.#finish()
  }

  #finish(): void {
    this.#rest = undefined
    this.#tail = Buffer.alloc(0)
    this.#onAnswer({ status: this.#status, firstByteMs: this.#firstByteMs, endMs: performance.now() })
  }
}
