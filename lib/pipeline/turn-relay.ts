import type { Exchange, Outcome } from './exchange.ts'
import type { ResponseHead, Tap } from './plugin.ts'
import { beyondLimit, type ReadLimits } from './relay-limits.ts'

/** The pipeline's part of each step of a turn. */
export interface TurnSteps {
  respond(exchange: Exchange, head: ResponseHead): readonly Tap[]
  tapFailed(exchange: Exchange, error: unknown): void
  settle(exchange: Exchange, outcome: Outcome): Promise<void> | undefined
  endExchange(exchange: Exchange, outcome: Outcome): void
}

/** A response made of messages is read like the event stream that it would be over HTTP. */
const head: ResponseHead = {
  status: 200,
  headers: ['content-type', 'text/event-stream'],
  contentLength: undefined,
}

/**
 * The course of one exchange whose request and response are messages of a connection. Its charge is durable before the
 * message that ends it may be relayed.
 */
export class TurnRelay {
  readonly exchange: Exchange
  /** Called with the reason why the response may not continue. */
  onCut: ((reason: Error) => void) | undefined
  readonly #steps: TurnSteps
  readonly #limits: ReadLimits
  #taps: readonly Tap[] | undefined
  #timer: NodeJS.Timeout | undefined
  #readBytes = 0

  constructor(exchange: Exchange, steps: TurnSteps, limits: ReadLimits) {
    this.exchange = exchange
    this.#steps = steps
    this.#limits = limits
    exchange.responseEnd = this
  }

  /**
   * Receives one event of the response, in the form it has over HTTP.
   * @returns a promise that must be fulfilled before the message is relayed
   */
  onData(event: Buffer): Promise<unknown> | undefined {
    this.#taps ??= this.#begin()
    for (const tap of this.#taps) this.#feed(tap, event)
    this.#readBytes += event.length
    if (this.#readBytes > this.#limits.bytesMax) this.cutAtEvent(beyondLimit('size', this.#limits))
    return this.exchange.barrier
  }

  cutAtEvent(reason: Error): void {
    this.onCut?.(reason)
  }

  /**
   * Settles the exchange, and ends it.
   * @throws what settling throws: a complete response must not be relayed then
   */
  async end(outcome: Outcome): Promise<void> {
    clearTimeout(this.#timer)
    let ended = outcome
    try {
      await this.#steps.settle(this.exchange, outcome)
    } catch (cause) {
      const error = new Error('The exchange could not be settled.', { cause })
      if (outcome.kind === 'completed') ended = { kind: 'broken', error }
      throw error
    } finally {
      this.#steps.endExchange(this.exchange, ended)
    }
  }

  #begin(): readonly Tap[] {
    this.exchange.responseStatus = head.status
    this.exchange.moments.firstByteMs = performance.now()
    const onLate = (): void => this.cutAtEvent(beyondLimit('time', this.#limits))
    this.#timer = setTimeout(onLate, this.#limits.timeMs)
    this.#timer.unref()
    return this.#steps.respond(this.exchange, head)
  }

  #feed(tap: Tap, event: Buffer): void {
    try {
      tap.onData(event)
    } catch (error) {
      this.#taps = this.#taps?.filter(other => other !== tap)
      this.#steps.tapFailed(this.exchange, error)
    }
  }
}
