import { EventEmitter } from 'eventemitter3'
import type { Exchange, Facts, Outcome } from './exchange.ts'
import type { ResponseHead } from './plugin.ts'

/** The events of an exchange, for logs and metrics. Listeners observe; they decide nothing. */
export interface PipelineEvents {
  'response-start': (exchange: Exchange, head: ResponseHead) => void
  'exchange-end': (exchange: Exchange, outcome: Outcome) => void
  'plugin-error': (plugin: string, hook: string, error: unknown, exchange: Pick<Exchange, 'id'>) => void
  /** The result of one of several attempts at an upstream; the exchange is undefined for the gateway's own requests. */
  'upstream-attempt': (exchange: Exchange | undefined, attempt: Readonly<Record<string, unknown>>) => void
  /** A turn of a session was charged. */
  'session-charge': (exchange: Exchange, sequence: number, charged: Facts['charged']) => void
  /** Something that an operator should check: a flag of a charge, an unpriced meter. */
  alarm: (code: string, details: Readonly<Record<string, unknown>>) => void
}

/**
 * A typed bus that isolates the emitter from its listeners: with eventemitter3 alone, a throw reaches it and skips the
 * rest.
 */
export class PipelineBus {
  readonly #emitter = new EventEmitter<PipelineEvents>()
  readonly #onListenerError: (event: string, error: unknown) => void

  constructor(onListenerError: (event: string, error: unknown) => void) {
    this.#onListenerError = onListenerError
  }

  /** @returns a function that removes the listener */
  on<E extends keyof PipelineEvents>(event: E, listener: PipelineEvents[E]): () => void {
    const guarded = (...values: unknown[]): void => {
      try {
        ;(listener as (...values: unknown[]) => void)(...values)
      } catch (error) {
        this.#onListenerError(event, error)
      }
    }
    this.#emitter.on(event, guarded)
    return () => void this.#emitter.off(event, guarded)
  }

  emit<E extends keyof PipelineEvents>(event: E, ...values: Parameters<PipelineEvents[E]>): void {
    this.#emitter.emit(event, ...(values as never))
  }
}
