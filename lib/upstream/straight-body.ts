import { Socket } from 'node:net'
import { subscribe } from 'node:diagnostics_channel'

/** Receives the bytes of a body, in order. */
export interface BodySink {
  /**
   * @param isLast no more of the body came in the same read
   * @param framed the same bytes as a whole chunk (RFC 9112 section 7.1), when the read was exactly one chunk
   */
  onBody(bytes: Buffer, isLast: boolean, framed?: Buffer): void
}

/**
 * `head` until the head of the response is complete; `waiting` until it is decided who reads the body; `body` while
 * this class reads it; `passed` when undici reads everything.
 */
type Phase = 'head' | 'waiting' | 'body' | 'passed'

const carriageReturn = 0x0d
const lineFeed = 0x0a
const headEnd = Buffer.from('\r\n\r\n')
const noBytes = Buffer.alloc(0)
/** A length below 256 MB and the first byte of its line end; longer chunks are left to undici. */
const lineBytesMax = 8
const digitsMax = 7
/** A byte that undici's parser rejects as a chunk length. */
const noLength = Buffer.from('!')

/**
 * Reads the chunked body of a response (RFC 9112 section 7.1) from its socket instead of undici, which sees only the
 * head and the end of an empty body: undici's parser and the stream that it reads from cost more than everything else
 * that is done with a frame. Anything but a plain chunk, such as a chunk with an extension, is left to undici from
 * there on, and so are trailers, the end of the connection and its errors.
 */
export class StraightBody {
  readonly #socket: Socket
  readonly #sink: BodySink
  #phase: Phase = 'head'
  /** The last bytes of the head so far: its end may be split between two reads. */
  #headTail: Buffer = noBytes
  /** Bytes received after the head before it was decided who reads them. */
  #held: Buffer[] = []
  /** Bytes left of the current chunk and its line end; 0 where a length comes next. */
  #rest = 0
  /** Where the data starts of a chunk that begins at the start of a read; 0 for all other chunks. */
  #framedStart = 0
  /** The part received of the line with the length. */
  #line = ''
  #isPaused = false

  constructor(socket: Socket, sink: BodySink) {
    this.#socket = socket
    this.#sink = sink
    // Node's sockets push what they read; an own property takes precedence over the prototype's method.
    socket.push = bytes => this.#push(bytes as Buffer | null)
  }

  /** Whether this class, and not undici, reads the body or the rest of it. */
  get isReading(): boolean {
    return this.#phase === 'body'
  }

  /** The head belongs to an interim response (RFC 9110 section 15.2): another head follows. */
  awaitNextHead(): void {
    if (this.#phase === 'waiting') this.#go('head')
  }

  /** The head announces a chunked body: it goes to the sink. */
  read(): void {
    if (this.#phase === 'waiting') this.#go('body')
    else this.leave()
  }

  /** Leaves the body to undici. */
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
    // The first call ends the read that the stream considers under way, so that the second starts another.
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

  /** A sink that throws ends its own response, as it does with undici. */
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
    // The sink may have closed the connection, and undici accepts nothing more then.
    return !this.#isPaused
  }

  #readData(bytes: Buffer, start: number): number {
    const end = Math.min(bytes.length, start + this.#rest - 2)
    this.#rest -= end - start
    // A chunk's data is followed by its line end.
    const isLast = end + 2 >= bytes.length
    const isFramed = isLast && start > 0 && start === this.#framedStart && isLineEnd(bytes, end)
    this.#framedStart = 0
    this.#sink.onBody(bytes.subarray(start, end), isLast, isFramed ? bytes : undefined)
    return end
  }

  #readLineEnd(bytes: Buffer, at: number): number {
    if (bytes[at] !== (this.#rest === 2 ? carriageReturn : lineFeed)) return this.#leaveRest(noLength, bytes)
    this.#rest -= 1
    return at + 1
  }

  /**
   * Reads a length that arrived in one piece, as nearly all do.
   * @returns where the chunk's data starts, or 0 for anything else
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

  /** @returns where the chunk's data starts, or where the bytes end */
  #readLength(bytes: Buffer, start: number): number {
    let at = start
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] as number
      if (byte === lineFeed && this.#line.endsWith('\r')) break
      if (this.#line.length >= lineBytesMax || !isOfLength(byte, this.#line))
        return this.#leaveRest(Buffer.from(this.#line, 'latin1'), bytes, at)
      this.#line += String.fromCharCode(byte)
    }
    if (at === bytes.length) return at
    const length = Number.parseInt(this.#line, 16)
    if (!(length > 0)) return this.#leaveRest(Buffer.from(this.#line, 'latin1'), bytes, at)
    this.#line = ''
    this.#rest = length + 2
    return at + 1
  }

  /** Leaves the rest to undici, starting where a chunk length begins. */
  #leaveRest(before: Buffer, bytes: Buffer, at = bytes.length): number {
    this.leave()
    this.#socket.push(Buffer.concat([before, bytes.subarray(at)]))
    return bytes.length
  }
}

/** A hexadecimal digit, or the first byte of the line end after one. */
function isOfLength(byte: number, line: string): boolean {
  if (byte === carriageReturn) return line !== '' && !line.endsWith('\r')
  return hexDigit(byte) !== -1 && !line.endsWith('\r')
}

/** -1 for a byte that is not a digit, or is missing. */
function hexDigit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

function isLineEnd(bytes: Buffer, at: number): boolean {
  return bytes[at] === carriageReturn && bytes[at + 1] === lineFeed
}

/** Receives the socket on which its request is sent. */
export interface SocketReceiver {
  onSocket(socket: Socket): void
}

let nextReceiver: SocketReceiver | undefined

// undici exposes the connection of a request only in this channel, between onRequestStart and the request's first byte.
subscribe('undici:client:sendHeaders', message => {
  const receiver = nextReceiver
  nextReceiver = undefined
  receiver?.onSocket((message as { readonly socket: Socket }).socket)
})

/**
 * Registers who receives the socket of the next request. Called in onRequestStart, after which undici sends the request
 * in the same call; undefined for a request that needs no socket, so that it does not receive another request's.
 */
export function takeNextSocket(next: SocketReceiver | undefined): void {
  nextReceiver = next
}
