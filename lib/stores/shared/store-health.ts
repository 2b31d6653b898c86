import type { LedgerUnavailableError } from '../../ledger/ledger.ts'
import type { StoreOptions } from '../store.ts'
import { WriteQueue } from './write-queue.ts'

/** How often a store is looked at that can be lost without a write. */
const everyMs = 500

interface StoreQueueOptions<Operation> extends Pick<StoreOptions, 'log' | 'onAvailable'> {
  readonly waitingMax: number
  readonly send: (operations: readonly Operation[]) => void
  readonly isClosing: () => boolean
  /** What says, beside writes that fail, that it cannot be written. */
  readonly lost?: () => LedgerUnavailableError | undefined
}

interface StoreHealthOptions extends Pick<StoreOptions, 'log' | 'onAvailable'> {
  /** Why it cannot be written at present, as far as is known; undefined when all is well. */
  readonly failure: () => LedgerUnavailableError | undefined
  readonly isClosing: () => boolean
}

/**
 * Whether a store can be used: the one place that says so, to readiness and metrics by `failure`, to the log and the
 * alarm when it changes.
 */
class StoreHealth {
  readonly #options: StoreHealthOptions
  #isWell = true
  #timer: NodeJS.Timeout | undefined

  constructor(options: StoreHealthOptions) {
    this.#options = options
  }

  failure(): LedgerUnavailableError | undefined {
    return this.#options.failure()
  }

  /** Something may have changed. Each change is told once, and none while the store is closing. */
  check(): void {
    const { log, onAvailable, isClosing } = this.#options
    const error = this.failure()
    if (isClosing() || (error === undefined) === this.#isWell) return
    this.#isWell = error === undefined
    if (error === undefined) log?.info({}, 'the store can be written again')
    else log?.error({ error }, 'the store cannot be written; no paid request is admitted')
    onAvailable?.(error)
  }

  /** Looks by itself from now on, for a store that may be lost while nothing is written. */
  watch(): void {
    this.#timer = setInterval(() => this.check(), everyMs)
    this.#timer.unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

/** Opens the queue of a store, with what says whether the store can be used. */
export function storeQueue<Operation>({ waitingMax, send, lost, ...options }: StoreQueueOptions<Operation>): {
  readonly queue: WriteQueue<Operation>
  readonly health: StoreHealth
} {
  const queue = new WriteQueue<Operation>({ waitingMax, send, onChange: () => health.check() })
  const health: StoreHealth = new StoreHealth({ ...options, failure: () => queue.failure ?? lost?.() })
  return { queue, health }
}
