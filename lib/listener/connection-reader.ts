import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { turns } from '../bodies/turns.ts'

/** The private field of node:http on a socket. */
interface HttpSocket extends Socket {
  /** Whether it must not be read now. */
  _paused?: boolean
}

/** The bytes that node:http is parsing. */
export interface Segment {
  readonly bytes: Buffer
  /** The offset after the first line of the request that it emitted last. */
  at: number
}

/** How many requests of one connection may be pending before no more are read. */
const pendingMax = 8
const headEnd = '\r\n\r\n'
const noBytes = Buffer.alloc(0)

/**
 * Sits between a connection and node:http, which would parse a whole segment in one iteration of the event loop: a
 * segment may hold thousands of requests. Reading stops while enough of the connection's requests are pending; when no
 * time is left in this iteration, it continues in its owner's turn. Unread bytes stay in the socket's own buffer.
 */
export class ConnectionReader {
  /** The response to the last request that node:http emitted. */
  last: ServerResponse | undefined
  /** The following bytes may be the hidden half of an ambiguous request, and are ignored. */
  isDistrusted = false
  /** Bytes arrived that are not a request; nothing after them can be read. */
  isBroken = false
  segment: Segment | undefined
  readonly #socket: HttpSocket
  readonly #owner: unknown
  /** Passes bytes to node:http's parser. */
  readonly #parse: (bytes: Buffer) => void
  #pendingCount = 0
  #isHolding = false
  #isPausedByNode = false
  /** A turn was granted: something may be read, even with no time left. */
  #hasTurn = false
  #rest: Buffer = noBytes
  #isDetached = false

  /** @param owner groups the connections that share turns; null where reading may not wait */
  constructor(socket: Socket, owner: unknown) {
    const [parse] = socket.listeners('data')
    if (parse === undefined) throw new Error('node:http does not listen to its connection.')
    this.#socket = socket
    this.#owner = owner
    this.#parse = parse as (bytes: Buffer) => void
    socket.off('data', this.#parse)
    // node:http resumes the socket with every request and response, unless this property says that it is paused.
    Object.defineProperty(socket, '_paused', {
      configurable: true,
      get: () => this.#isHolding || this.#isPausedByNode,
      set: (isPaused: boolean) => {
        this.#isPausedByNode = isPaused
      },
    })
    socket.on('data', this.#read)
  }

  /** Whether a request of the connection has no finished response. */
  get isPending(): boolean {
    return this.#pendingCount > 0
  }

  /** Counts a request that node:http has emitted. */
  begin(response: ServerResponse): void {
    this.last = response
    this.#pendingCount += 1
    response.on('close', this.#end)
  }

  /** Detaches from the socket, which node:http has released. Returns the bytes after the head of the last request. */
  detach(head: Buffer): Buffer {
    this.#isDetached = true
    this.#socket.off('data', this.#read)
    return this.#rest.length === 0 ? head : Buffer.concat([head, this.#rest])
  }

  readonly #read = (chunk: Buffer): void => {
    let isBody = false
    for (let at = 0; at < chunk.length;) {
      // The start of a body is read together with its head.
      if (!isBody && !this.#mayRead(at === 0)) return this.#hold(chunk.subarray(at))
      const { last } = this
      const found = chunk.indexOf(headEnd, at)
      const end = found < 0 ? chunk.length : found + headEnd.length
      const bytes = chunk.subarray(at, end)
      this.#rest = chunk.subarray(end)
      this.segment = { bytes, at: 0 }
      this.#parse(bytes)
      this.segment = undefined
      // The socket now belongs to another protocol, or is broken.
      if (this.#isDetached || this.isBroken) break
      isBody = this.last !== last && this.last?.req.complete === false && !this.#isPausedByNode
      at = end
    }
    this.#rest = noBytes
  }

  #mayRead(isFirst: boolean): boolean {
    if (this.#isHolding || this.#isPausedByNode || this.#pendingCount >= pendingMax) return false
    const hadTurn = this.#hasTurn
    this.#hasTurn = false
    if (hadTurn || this.#owner === null) return true
    return isFirst && this.#isInStep ? turns.mayBegin() : turns.mayGoOn()
  }

  /** Whether nothing is pending, or only the request whose body is arriving. */
  get #isInStep(): boolean {
    return this.#pendingCount === 0 || (this.#pendingCount === 1 && this.last?.req.complete === false)
  }

  #hold(rest: Buffer): void {
    // In flowing mode, bytes that are put back would be emitted again at once.
    this.#socket.pause()
    this.#socket.unshift(rest)
    // When node:http itself waits for a write, it resumes the socket itself, possibly while this reader holds it.
    if (this.#isHolding || this.#isPausedByNode) return
    this.#isHolding = true
    if (this.#pendingCount < pendingMax) void this.#goOnInTurn()
  }

  readonly #end = (): void => {
    this.#pendingCount -= 1
    if (this.#isHolding && this.#pendingCount === pendingMax - 1) void this.#goOnInTurn()
  }

  async #goOnInTurn(): Promise<void> {
    if (this.#owner !== null) await turns.wait(this.#owner)
    this.#isHolding = false
    this.#hasTurn = true
    if (!this.#isPausedByNode) this.#socket.resume()
  }
}
