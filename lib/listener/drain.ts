import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { steadyClock } from '../platform/clock.ts'

/** The exchanges that a drain waits for. */
interface OpenExchanges {
  count(): number
  /** Lets those that could go on for ever, such as sessions, end by themselves. */
  windUp(): void
  /** Ends them without a clean end; what each owes is charged before it is over. */
  cutAll(): void
}

/** Times in milliseconds. */
export interface DrainOptions {
  /** How long requests are still served, until balancers have seen that no more are wanted. */
  readonly waitMs: number
  /** How long open exchanges may go on after that. */
  readonly drainMs: number
}

const tickMs = 20
/** For how long before the end of the wait no connection is accepted, and requests are served on those there are. */
const arrivalMs = 500
/** How long exchanges that were cut may take to be settled: longer than they wait for a store in trouble. */
const settleMs = 65_000
/** For the last bytes of answers, and for heads that are half received. */
const lastBytesMs = 100

/**
 * Ends a server: serves on for a while, then accepts nothing new, waits for what runs, and cuts what runs at
 * the deadline. What is waited for are exchanges, not connections: one that was opened and never used would
 * hold up the end for nothing.
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

  /** Begins, or when it has begun already, brings its end nearer. */
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
    // A proxy that has just connected is about to send, and does not repeat what it has sent: it is still served.
    // Not the HTTP server's own close, which ends connections that have no request yet.
    const closed = new Promise<void>(resolve => NetServer.prototype.close.call(this.#server, () => resolve()))
    while (steadyClock.now() < this.#waitUntilMs) await delay(tickMs)
    this.phase = 'closing'
    // Ends connections without a request; that it listens no longer is what its callback would complain of.
    this.#server.close(() => undefined)
    this.#exchanges.windUp()
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
      // A connection whose answer began before the drain would be kept alive after it.
      this.#server.closeIdleConnections()
      await delay(tickMs)
    }
    this.#server.closeIdleConnections()
  }
}
