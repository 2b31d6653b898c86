import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { steadyClock } from '../platform/clock.ts'

/** The exchanges that a drain waits for. */
interface OpenExchanges {
  count(): number
  /** Ends exchanges that could last for ever, such as sessions, once their current work is done. */
  drain(): void
  /** Cuts them; what each owes is charged before it ends. */
  cutAll(): void
}

/** Times in milliseconds. */
export interface DrainOptions {
  /** How long requests are still served, so that load balancers notice that no more are wanted. */
  readonly waitMs: number
  /** How long open exchanges may continue after that. */
  readonly drainMs: number
}

const tickMs = 20
/** How long before the end of the wait new connections are refused, while open ones are still served. */
const arrivalMs = 500
/** How long the settling of cut exchanges may take: longer than they wait for a failing store. */
const settleMs = 65_000
/** For the last bytes of responses, and for half-received heads. */
const lastBytesMs = 100

/**
 * Ends a server: serves for a while, then accepts nothing new, waits for open exchanges, and cuts those still open at
 * the deadline. It waits for exchanges and not for connections, because an unused connection would delay the end for
 * nothing.
 */
export class Drain {
  readonly #server: Server
  readonly #exchanges: OpenExchanges
  /** `waiting`: requests are served, and their connections close. `closing`: new requests are refused. */
  phase: 'serving' | 'waiting' | 'closing' = 'serving'
  #waitUntilMs = Number.POSITIVE_INFINITY
  #deadlineMs = Number.POSITIVE_INFINITY
  #done: Promise<void> | undefined

  constructor(server: Server, exchanges: OpenExchanges) {
    this.#server = server
    this.#exchanges = exchanges
  }

  /** Starts the drain, or brings the deadline of a running one nearer. */
  start({ waitMs, drainMs }: DrainOptions): Promise<void> {
    const now = steadyClock.now()
    this.#waitUntilMs = Math.min(this.#waitUntilMs, now + waitMs)
    this.#deadlineMs = Math.min(this.#deadlineMs, now + waitMs + drainMs)
    this.#done ??= this.#run()
    return this.#done
  }

  async #run(): Promise<void> {
    this.phase = 'waiting'
    const graceMs = Math.min(arrivalMs, Math.max(0, this.#waitUntilMs - steadyClock.now()))
    while (steadyClock.now() < this.#waitUntilMs - graceMs) await delay(tickMs)
    // A proxy that has just connected is about to send a request that it would not repeat, so it is still served.
    // Therefore not the HTTP server's own close, which also ends connections that have had no request yet.
    const closed = new Promise<void>(resolve => NetServer.prototype.close.call(this.#server, () => resolve()))
    while (steadyClock.now() < this.#waitUntilMs) await delay(tickMs)
    this.phase = 'closing'
    // Ends connections without a request; the callback ignores the error that the server no longer listens.
    this.#server.close(() => undefined)
    this.#exchanges.drain()
    await this.#exchangesEnd(() => this.#deadlineMs)
    if (this.#exchanges.count() > 0) {
      this.#exchanges.cutAll()
      const settledUntilMs = steadyClock.now() + settleMs
      await this.#exchangesEnd(() => settledUntilMs)
    }
    await Promise.race([closed, delay(lastBytesMs, undefined, { ref: false })])
    this.#server.closeAllConnections()
    await closed
  }

  async #exchangesEnd(deadlineMs: () => number): Promise<void> {
    while (this.#exchanges.count() > 0 && steadyClock.now() < deadlineMs()) {
      // A connection whose response began before the drain would otherwise be kept alive after it.
      this.#server.closeIdleConnections()
      await delay(tickMs)
    }
    this.#server.closeIdleConnections()
  }
}
