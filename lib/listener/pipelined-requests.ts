import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { turns } from '../bodies/turns.ts'

/** What node:http keeps on a socket. */
interface HttpSocket extends Socket {
  /** It is not to be read now. */
  _paused?: boolean
  parser?: { resume(): void } | null
}

/** @param problem why the request is to be refused, when it is */
type Accept = (request: IncomingMessage, response: ServerResponse, problem: string | undefined) => void

/** Requests of one connection that came before the response to the first of them had ended. */
interface Line {
  /** How many of them have been accepted and have not ended. */
  open: number
  readonly waiting: Parameters<Accept>[]
}

/** So many are accepted at once behind the one whose response has its turn. */
const openMax = 8

/**
 * Lets no connection have more than its turn. A segment may hold a thousand pipelined requests, and node:http tells of
 * all of them in one turn of the event loop: behind the first few they wait here, one is accepted when another has ended
 * and others have had their turn, and meanwhile no more is read. What is not pipelined passes at once.
 */
export class PipelinedRequests {
  readonly #accept: Accept
  readonly #lines = new WeakMap<Socket, Line>()

  constructor(accept: Accept) {
    this.#accept = accept
  }

  take(request: IncomingMessage, response: ServerResponse, problem?: string): void {
    // A response has the socket once those before it have ended.
    if (response.socket !== null) return this.#accept(request, response, problem)
    const { socket } = request
    let line = this.#lines.get(socket)
    if (line === undefined) this.#lines.set(socket, (line = { open: 0, waiting: [] }))
    if (line.open < openMax && line.waiting.length === 0)
      return this.#open(line, [request, response, problem])
    line.waiting.push([request, response, problem])
    if (line.waiting.length === 1) this.#pause(socket, line)
  }

  #open(line: Line, next: Parameters<Accept>): void {
    const [{ socket }, response] = next
    line.open += 1
    response.once('close', () => {
      line.open -= 1
      if (line.waiting.length > 0) void turns.take(() => this.#openNext(socket, line))
    })
    this.#accept(...next)
  }

  #openNext(socket: HttpSocket, line: Line): void {
    if (socket.destroyed) line.waiting.length = 0
    const next = line.waiting.shift()
    if (next === undefined) return
    if (line.waiting.length === 0 && socket._paused !== true) {
      // The rest of its body, and what follows it.
      socket.parser?.resume()
      socket.resume()
    }
    this.#open(line, next)
  }

  /** Whenever a response is written, node:http resumes the socket, unless it says that it is paused. */
  #pause(socket: HttpSocket, line: Line): void {
    let isPaused = socket._paused === true
    Object.defineProperty(socket, '_paused', {
      configurable: true,
      get: () => isPaused || line.waiting.length > 0,
      set(value: boolean) {
        isPaused = value
      },
    })
    socket.pause()
  }
}
