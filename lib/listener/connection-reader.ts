import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { turns } from '../bodies/turns.ts'

/** What node:http keeps on a socket. */
interface HttpSocket extends Socket {
  /** It is not to be read now. */
  _paused?: boolean
}

/** The bytes that node:http is at work on. */
export interface Segment {
  readonly bytes: Buffer
  /** Behind the first line of the request that it told of last. */
  at: number
}

/** So many requests of a connection are met while the first of them has not been answered. */
const pendingMax = 8
const headEnd = '\r\n\r\n'
const noBytes = Buffer.alloc(0)

/**
 * Stands between a connection and node:http, which would read all of a segment in one turn of the event loop: it may hold
 * thousands of requests. Nothing more is read while enough of the connection's requests are pending, and where there is
 * no time left it is read on in its owner's turn. What is not read yet stays in the socket's own buffer.
 */
export class ConnectionReader {
  /** The response to the last request that was told of. */
  last: ServerResponse | undefined
  /** What follows may be the hidden half of what came before, and is nobody's. */
  isDistrusted = false
  /** Something came that is no request, behind which nothing can be read. */
  isBroken = false
  segment: Segment | undefined
  readonly #socket: HttpSocket
  readonly #owner: unknown
  /** Has node:http read bytes. */
  readonly #parse: (bytes: Buffer) => void
  #pendingCount = 0
  #isHolding = false
  #isPausedByNode = false
  /** Something may be read, however late it is. */
  #hasTurn = false
  #rest: Buffer = noBytes
  #isDetached = false

  /** @param owner whose connections have their turn together; null where nobody may wait */
  constructor(socket: Socket, owner: unknown) {
    const [parse] = socket.listeners('data')
    if (parse === undefined) throw new Error('node:http does not listen to its connection.')
    this.#socket = socket
    this.#owner = owner
    this.#parse = parse as (bytes: Buffer) => void
    socket.off('data', this.#parse)
    // With every request and response node:http resumes the socket, unless this says that it is paused.
    Object.defineProperty(socket, '_paused', {
      configurable: true,
      get: () => this.#isHolding || this.#isPausedByNode,
      set: (isPaused: boolean) => {
        this.#isPausedByNode = isPaused
      },
    })
    socket.on('data', this.#read)
  }

  /** A request of the connection has not been answered. */
  get isPending(): boolean {
    return this.#pendingCount > 0
  }

  /** A request was told of. */
  begin(response: ServerResponse): void {
    this.last = response
    this.#pendingCount += 1
    response.on('close', this.#end)
  }

  /** The socket is no longer node:http's. Answers what came behind the head of the last request. */
  detach(head: Buffer): Buffer {
    this.#isDetached = true
    this.#socket.off('data', this.#read)
    return this.#rest.length === 0 ? head : Buffer.concat([head, this.#rest])
  }

  readonly #read = (chunk: Buffer): void => {
    let isBody = false
    for (let at = 0; at < chunk.length;) {
      // The beginning of a body goes with its head.
      if (!isBody && !this.#mayRead(at === 0)) return this.#hold(chunk.subarray(at))
      const { last } = this
      const found = chunk.indexOf(headEnd, at)
      const end = found < 0 ? chunk.length : found + headEnd.length
      const bytes = chunk.subarray(at, end)
      this.#rest = chunk.subarray(end)
      this.segment = { bytes, at: 0 }
      this.#parse(bytes)
      this.segment = undefined
      // Another protocol has it now, or nobody.
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

  /** Nothing is pending, or only the request whose body comes. */
  get #isInStep(): boolean {
    return this.#pendingCount === 0 || (this.#pendingCount === 1 && this.last?.req.complete === false)
  }

  #hold(rest: Buffer): void {
    // While it flows what is put back comes again at once.
    this.#socket.pause()
    this.#socket.unshift(rest)
    // Where it waits for what it writes node:http resumes the socket itself, and may do so while this holds it.
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
