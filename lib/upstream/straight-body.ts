import { Socket } from 'node:net'
import { subscribe } from 'node:diagnostics_channel'

/** Takes what comes of a body, in order. */
export interface BodySink {
  /**
   * @param isLast nothing more of the body came in the same read
   * @param framed the same as a whole chunk (RFC 9112 section 7.1), where a read was that and nothing else
   */
  onBody(bytes: Buffer, isLast: boolean, framed?: Buffer): void
}

/**
 * Of the bytes that come: `head` until the head of the response is whole, `waiting` until it is decided who reads the
 * body, `body` while that is here, `passed` when undici reads all there is.
 */
type Phase = 'head' | 'waiting' | 'body' | 'passed'

const carriageReturn = 0x0d
const lineFeed = 0x0a
const headEnd = Buffer.from('\r\n\r\n')
const noBytes = Buffer.alloc(0)
/** Of a length below 256 MB and the first byte of its line end; longer chunks are left to undici. */
const lineBytesMax = 8
const digitsMax = 7
/** What undici's parser takes for no length of a chunk. */
const noLength = Buffer.from('!')

/**
 * Reads the chunked body of a response (RFC 9112 section 7.1) from its socket in place of undici, which is told the
 * head and the end of an empty body: its parser, and the stream that it reads from, cost more than all else that is
 * done with a frame. What is no plain chunk, such as one with an extension, is left to undici from there on, as are
 * trailers, the end of the connection and its errors.
 */
export class StraightBody {
  readonly #socket: Socket
  readonly #sink: BodySink
  #phase: Phase = 'head'
  /** The last bytes of the head that has come: its end may lie between two reads. */
  #headTail: Buffer = noBytes
  /** What came behind the head before it was decided who reads it. */
  #held: Buffer[] = []
  /** Bytes still to come of the chunk under way and its line end; 0 where a length comes next. */
  #rest = 0
  /** Where the data begins of a chunk with which a read begins; 0 for all others. */
  #framedStart = 0
  /** What has come of a length's line. */
  #line = ''
  #isPaused = false

  constructor(socket: Socket, sink: BodySink) {
    this.#socket = socket
    this.#sink = sink
    // Node's sockets push what they have read; a method of the object comes before the prototype's.
    socket.push = bytes => this.#push(bytes as Buffer | null)
  }

  /** Whether the body, or the rest of it, does not come from undici. */
  get isReading(): boolean {
    return this.#phase === 'body'
  }

  /** The head was of an interim response (RFC 9110 section 15.2): another follows. */
  awaitNextHead(): void {
    if (this.#phase === 'waiting') this.#go('head')
  }

  /** The head announced a chunked body: it goes to the sink. */
  read(): void {
    if (this.#phase === 'waiting') this.#go('body')
    else this.leave()
  }

  /** undici reads the body. */
  leave(): void {
    if (this.#phase !== 'passed') this.#go('passed')
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    if (this.#phase !== 'body') return
    // The first ends the read that the stream takes to be under way, so that the second begins another.
    this.#pass(noBytes)
    this.#socket.read(0)
  }

  #go(phase: Phase): void {
    this.#phase = phase
    if (phase === 'passed') Reflect.deleteProperty(this.#socket, 'push')
    const held = this.#held
    this.#held = []
    for (const bytes of held) this.#socket.push(bytes)
  }

  #pass(bytes: Buffer | null): boolean {
    return Socket.prototype.push.call(this.#socket, bytes)
  }

  /** @returns whether more may be read now */
  #push(bytes: Buffer | null): boolean {
    if (bytes === null || bytes.length === 0) return this.#pass(bytes)
    if (this.#phase === 'body') return this.#tryBody(bytes)
    if (this.#phase === 'head') return this.#readHead(bytes)
    this.#held.push(bytes)
    return true
  }

  #readHead(bytes: Buffer): boolean {
    const seen = this.#headTail.length === 0 ? bytes : Buffer.concat([this.#headTail, bytes])
    const found = seen.indexOf(headEnd)
    if (found === -1) {
      this.#headTail = seen.subarray(-3)
      return this.#pass(bytes)
    }
    const end = found + headEnd.length - this.#headTail.length
    this.#headTail = noBytes
    this.#phase = 'waiting'
    if (end < bytes.length) this.#held.push(bytes.subarray(end))
    return this.#pass(bytes.subarray(0, end))
  }

  /** A sink that throws ends its own response, as with undici. */
  #tryBody(bytes: Buffer): boolean {
    try {
      return this.#readBody(bytes)
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)))
      return false
    }
  }

  #readBody(bytes: Buffer): boolean {
    let at = 0
    while (at < bytes.length && this.#phase === 'body') {
      if (this.#rest > 2) at = this.#readData(bytes, at)
      else if (this.#rest > 0) at = this.#readLineEnd(bytes, at)
      else at = this.#readPlainLength(bytes, at) || this.#readLength(bytes, at)
    }
    // The sink may have had the connection closed, and undici wants nothing of it then.
    return !this.#isPaused
  }

  #readData(bytes: Buffer, start: number): number {
    const end = Math.min(bytes.length, start + this.#rest - 2)
    this.#rest -= end - start
    // Behind a chunk is its line end.
    const isLast = end + 2 >= bytes.length
    const isFramed = isLast && start > 0 && start === this.#framedStart && isLineEnd(bytes, end)
    this.#framedStart = 0
    this.#sink.onBody(bytes.subarray(start, end), isLast, isFramed ? bytes : undefined)
    return end
  }

  #readLineEnd(bytes: Buffer, at: number): number {
    if (bytes[at] !== (this.#rest === 2 ? carriageReturn : lineFeed)) return this.#handOver(noLength, bytes)
    this.#rest -= 1
    return at + 1
  }

  /**
   * Reads a length that is here in one piece, as nearly all are.
   * @returns where the chunk begins, or 0 for all else
   */
  #readPlainLength(bytes: Buffer, start: number): number {
    if (this.#line !== '') return 0
    let length = 0
    let at = start
    for (; at < start + digitsMax; at += 1) {
      const digit = hexDigit(bytes[at])
      if (digit === -1) break
      length = length * 16 + digit
    }
    if (length === 0 || !isLineEnd(bytes, at)) return 0
    this.#rest = length + 2
    if (start === 0) this.#framedStart = at + 2
    return at + 2
  }

  /** @returns where the chunk begins, or where the bytes end */
  #readLength(bytes: Buffer, start: number): number {
    let at = start
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] as number
      if (byte === lineFeed && this.#line.endsWith('\r')) break
      if (this.#line.length >= lineBytesMax || !isOfLength(byte, this.#line))
        return this.#handOver(Buffer.from(this.#line, 'latin1'), bytes, at)
      this.#line += String.fromCharCode(byte)
    }
    if (at === bytes.length) return at
    const length = Number.parseInt(this.#line, 16)
    if (!(length > 0)) return this.#handOver(Buffer.from(this.#line, 'latin1'), bytes, at)
    this.#line = ''
    this.#rest = length + 2
    return at + 1
  }

  /** undici reads what comes from here on: it is where a length begins. */
  #handOver(before: Buffer, bytes: Buffer, at = bytes.length): number {
    this.leave()
    this.#socket.push(Buffer.concat([before, bytes.subarray(at)]))
    return bytes.length
  }
}

/** A digit, or the line end behind one. */
function isOfLength(byte: number, line: string): boolean {
  if (byte === carriageReturn) return line !== '' && !line.endsWith('\r')
  return hexDigit(byte) !== -1 && !line.endsWith('\r')
}

/** -1 for a byte that is none, or is not there. */
function hexDigit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

function isLineEnd(bytes: Buffer, at: number): boolean {
  return bytes[at] === carriageReturn && bytes[at + 1] === lineFeed
}

/** Whoever sends a request. */
export interface SocketTaker {
  onSocket(socket: Socket): void
}

let taker: SocketTaker | undefined

// undici names the connection of a request in this channel alone, between onRequestStart and the request's first byte.
subscribe('undici:client:sendHeaders', message => {
  const told = taker
  taker = undefined
  told?.onSocket((message as { readonly socket: Socket }).socket)
})

/**
 * Tells the connection on which a request is sent. Called in its onRequestStart, behind which undici sends it in the
 * same call; undefined for a request that does not ask, so that it is told nothing of another's.
 */
export function takeNextSocket(next: SocketTaker | undefined): void {
  taker = next
}
