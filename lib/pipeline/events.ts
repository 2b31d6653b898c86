import { EventEmitter } from 'eventemitter3'
import type { Exchange, Facts, Outcome } from './exchange.ts'
import type { ResponseHead } from './plugin.ts'

/** The moments of an exchange, for logs and metrics. Listeners observe; they decide nothing. */
export interface PipelineEvents {
  'response-start': (exchange: Exchange, head: ResponseHead) => void
  'exchange-end': (exchange: Exchange, outcome: Outcome) => void
  'plugin-error': (plugin: string, hook: string, error: unknown, exchange: Pick<Exchange, 'id'>) => void
  /** One of several attempts at an upstream, when it is known what became of it; without id for the gateway's own. */
  'upstream-attempt': (exchange: Exchange | undefined, attempt: Readonly<Record<string, unknown>>) => void
  /** A turn of a session was charged. */
  'session-charge': (exchange: Exchange, sequence: number, charged: Facts['charged']) => void
  /** Something an operator should look at: a flag of a charge, an unpriced meter. */
  alarm: (code: string, details: Readonly<Record<string, unknown>>) => void
}

/** A typed bus whose listeners cannot hurt the emitter: eventemitter3 lets a throw reach it and skip the rest. */
export class PipelineBus {
  readonly #emitter = new EventEmitter<PipelineEvents>()
  readonly #onListenerError: (event: string, error: unknown) => void

  constructor(onListenerError: (event: string, error: unknown) => void) {
    this.#onListenerError = onListenerError
  }

  /** @returns what ends the listening */
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
