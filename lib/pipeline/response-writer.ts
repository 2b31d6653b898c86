import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { endAfterBody, isBodyComing, cutOff } from './end-response.ts'
import type { Exchange } from './exchange.ts'
import type { ResponseHead } from './plugin.ts'
import { writeInformation } from './write-information.ts'

/** The relay's part: what the writer reports to it. */
export interface ResponseFlow {
  pause(): void
  resume(): void
  /** Everything written so far has been sent to the client, and nothing is awaited. */
  caughtUp(): void
  /** The promise for which the response's bytes waited was rejected. */
  failed(error: Error): void
}

/** From this size on, copying costs more than writing the pieces together. */
const copiedBytesMax = 8192
const carriageReturn = 0x0d
const lineFeed = 0x0a
const lineEnd = '\r\n'

/**
 * The socket on which further chunks can be written once the head and the first chunk have been sent; undefined while
 * they wait, for example behind another response of the connection, and for a response that is not chunked.
 */
function chunkSocket({ socket, chunkedEncoding, writableLength }: ServerResponse): Socket | undefined {
  return socket !== null && chunkedEncoding && writableLength === 0 ? socket : undefined
}

/**
 * Writes bytes as one chunk of a chunked response (RFC 9112 section 7.1), with its framing, in one piece: node:http
 * makes four writes, in a tick of their own.
 * @returns false when the caller should wait for the client
 */
function writeChunk(socket: Socket, bytes: readonly Buffer[]): boolean {
  let length = 0
  for (const piece of bytes) length += piece.length
  const digits = length.toString(16)
  if (length > copiedBytesMax) {
    socket.cork()
    socket.write(digits + lineEnd, 'latin1')
    for (const piece of bytes) socket.write(piece)
    const isRoomLeft = socket.write(lineEnd, 'latin1')
    socket.uncork()
    return isRoomLeft
  }
  const chunk = Buffer.allocUnsafe(length + digits.length + 4)
  let at = chunk.write(digits, 'latin1')
  at = endLine(chunk, at)
  for (const piece of bytes) at += piece.copy(chunk, at)
  endLine(chunk, at)
  return socket.write(chunk)
}

function endLine(chunk: Buffer, at: number): number {
  chunk[at] = carriageReturn
  chunk[at + 1] = lineFeed
  return at + 2
}

/**
 * Sends a response to the client: not before the exchange's barrier is fulfilled, no faster than the client reads, and
 * not its last byte before `end` is called.
 */
export class ResponseWriter {
  readonly #exchange: Exchange
  readonly #flow: ResponseFlow
  readonly #stallMs: number
  #stallTimer: NodeJS.Timeout | undefined
  #head: ResponseHead | undefined
  /** Bytes that must not be sent yet: they wait for the exchange's barrier. */
  #queue: Buffer[] = []
  #isHeldBack = false
  #isClientFull = false
  #isStopped = false
  /** Bytes left until the announced length is complete; undefined where none was. */
  #remaining: number | undefined
  /** The chunk that completes the length: it is sent when the exchange is settled. */
  #withheld: Buffer | undefined
  /** The trailers after the last chunk; flat. */
  trailers: readonly string[] | undefined
  /** Where chunks are written after the head; undefined as long as node:http writes them. */
  #socket: Socket | undefined
  /** The head was sent with a first chunk, in one write. */
  #hasWritten = false
  /** What the current tick has brought: it is sent in one write. */
  #turn: Buffer[] = []
  readonly #endTurn = (): void => this.#writeTurn()

  /** @param stallMs how long a client may read nothing before it counts as gone */
  constructor(exchange: Exchange, flow: ResponseFlow, stallMs: number) {
    this.#exchange = exchange
    this.#flow = flow
    this.#stallMs = stallMs
  }

  /** An error event may only follow a complete event, or the client would read both as one. */
  get isAtEventBoundary(): boolean {
    return this.#exchange.cutNotice?.events.isBetweenEvents === true
  }

  /** Relays an informational response. */
  inform(status: number, headers: readonly string[]): void {
    const { response, barrier } = this.#exchange
    if (this.#isStopped) return
    if (barrier === undefined) writeInformation(response, status, headers)
    else {
      barrier.then(
        () => this.inform(status, headers),
        () => undefined, // `#holdBack` reports it.
      )
    }
  }

  begin(head: ResponseHead): void {
    this.#head = head
    if (head.contentLength !== undefined && this.#exchange.rewriter === undefined)
      this.#remaining = head.contentLength
    // The head is sent in one write with the first bytes of the stream, or on its own when they take longer than this
    // tick.
    else setImmediate(() => this.#flushHead())
  }

  /**
   * @param isLast no more bytes come in this tick
   * @param framed the same bytes as one chunk of a chunked response, when they arrived so
   */
  write(bytes: Buffer, isLast = false, framed?: Buffer): void {
    if (this.#isStopped) return
    if (this.#isHeldBack || this.#exchange.barrier !== undefined) {
      this.#queue.push(bytes)
      this.#holdBack()
      return
    }
    if (this.#remaining !== undefined) this.#remaining -= bytes.length
    if (this.#remaining !== undefined && this.#remaining <= 0) {
      this.#withheld = this.#withheld === undefined ? bytes : Buffer.concat([this.#withheld, bytes])
      return
    }
    this.#writeHead()
    const { cutNotice, response } = this.#exchange
    cutNotice?.events.follow(bytes)
    if (this.#hasWritten) this.#socket ??= chunkSocket(response)
    if (this.#socket === undefined) {
      this.#hasWritten = true
      if (!response.write(bytes)) this.#waitForClient(response)
    } else if (isLast && this.#turn.length === 0) this.#writeNow(this.#socket, bytes, framed)
    else if (this.#turn.push(bytes) === 1) process.nextTick(this.#endTurn)
  }

  #writeNow(socket: Socket, bytes: Buffer, framed: Buffer | undefined): void {
    if (socket.destroyed) return
    const hasRoom = framed === undefined ? writeChunk(socket, [bytes]) : socket.write(framed)
    if (!hasRoom) this.#waitForClient(socket)
  }

  #writeTurn(): void {
    const turn = this.#turn
    if (turn.length === 0 || this.#socket === undefined) return
    this.#turn = []
    if (!this.#socket.destroyed && !writeChunk(this.#socket, turn)) this.#waitForClient(this.#socket)
  }

  /** True when nothing is waiting; otherwise `caughtUp` is called later. */
  catchUp(): boolean {
    if (!this.#isHeldBack && this.#exchange.barrier === undefined) return true
    this.#holdBack()
    return false
  }

  /** The client is gone: nothing more is written. */
  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#stallTimer)
    this.#isClientFull = false
    this.#queue = []
    this.#turn = []
  }

  /** The exchange is settled: the last byte may be sent. */
  end(): void {
    this.#writeHead()
    this.#writeTurn()
    if (this.trailers !== undefined) addTrailers(this.#exchange, this.trailers)
    const { request, response } = this.#exchange
    if (isBodyComing(request)) endAfterBody(response, this.#withheld)
    else if (this.#withheld === undefined) response.end()
    else response.end(this.#withheld)
  }

  /** Ends an incomplete response in such a way that it cannot pass for a complete one. */
  cut(reason: Error | undefined): void {
    this.#writeHead()
    this.#writeTurn()
    cutOff(
      this.#exchange.response,
      this.isAtEventBoundary ? this.#exchange.cutNotice?.event(reason) : undefined,
    )
  }

  #waitForClient(written: ServerResponse | Socket): void {
    if (this.#isClientFull) return
    this.#isClientFull = true
    this.#flow.pause()
    const { response } = this.#exchange
    // The connection is reset, and the exchange ends as for any client that leaves.
    this.#stallTimer = setTimeout(() => cutOff(response, undefined), this.#stallMs)
    this.#stallTimer.unref()
    written.once('drain', () => {
      clearTimeout(this.#stallTimer)
      this.#isClientFull = false
      if (!this.#isHeldBack) this.#flow.resume()
    })
  }

  #holdBack(): void {
    if (this.#isHeldBack) return
    this.#isHeldBack = true
    this.#flow.pause()
    Promise.resolve(this.#exchange.barrier).then(
      () => this.#letGo(),
      (error: unknown) => {
        this.#flow.failed(
          new Error('The record that the response waited for could not be made durable.', { cause: error }),
        )
      },
    )
  }

  #letGo(): void {
    this.#isHeldBack = false
    const queue = this.#queue
    this.#queue = []
    for (const bytes of queue) this.write(bytes)
    if (!this.catchUp()) return
    this.#flow.caughtUp()
    if (!this.#isClientFull) this.#flow.resume()
  }

  #flushHead(): void {
    const { response, barrier } = this.#exchange
    if (this.#isStopped || response.headersSent || response.destroyed) return
    if (barrier === undefined) {
      this.#writeHead()
      response.flushHeaders()
    } else {
      this.#holdBack()
      barrier.then(
        () => this.#flushHead(),
        () => undefined, // `#holdBack` reports it.
      )
    }
  }

  /**
   * Writes a response's status and headers: the upstream's own, then our id of the exchange and the length. node:http
   * adds Transfer-Encoding and Connection.
   */
  #writeHead(): void {
    const { request, response, extraHeaders, id, rewriter } = this.#exchange
    if (response.headersSent || this.#head === undefined) return
    const { status, contentLength } = this.#head
    const headers = [...this.#head.headers, ...extraHeaders, 'x-gateway-request-id', id]
    if (contentLength !== undefined && rewriter === undefined)
      headers.push('content-length', String(contentLength))
    // The connection cannot be reused after a request body that is not read to its end.
    if (isBodyComing(request)) response.shouldKeepAlive = false
    response.writeHead(status, headers)
  }
}

/** node:http sends them after the last chunk, and drops them when the response is not chunked. */
function addTrailers({ response }: Exchange, trailers: readonly string[]): void {
  const fields: [string, string][] = []
  for (let index = 0; index + 1 < trailers.length; index += 2)
    fields.push([trailers[index] as string, trailers[index + 1] as string])
  response.addTrailers(fields)
}
