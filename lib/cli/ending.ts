import type { Log } from '../platform/log.ts'

/** What ends a server: a signal, or a failure that nobody caught. */
type EndReason = 'SIGTERM' | 'SIGINT' | 'failure'

/** How long a process that has failed may take to end by itself. */
const stuckMs = 90_000

/**
 * Waits for what ends the process. The first signal begins the end, every further one hastens it. A failure
 * that nobody caught ends it too: what is left in memory may be wrong, and a supervisor starts it anew.
 */
export class Ending {
  readonly reason: Promise<EndReason>
  /** Called by signals that follow the first. */
  onHasten: (() => void) | undefined
  readonly #log: Log
  readonly #resolve: (reason: EndReason) => void
  #hasBegun = false

  constructor(log: Log) {
    const { promise, resolve } = Promise.withResolvers<EndReason>()
    this.reason = promise
    this.#log = log
    this.#resolve = resolve
    const onSignal = (signal: NodeJS.Signals): void => {
      if (this.#hasBegun) {
        log.info({ signal }, 'stopping now')
        this.onHasten?.()
        return
      }
      this.#hasBegun = true
      log.info({ signal }, 'stopping when what runs has ended; once more stops in a second')
      resolve(signal === 'SIGINT' ? 'SIGINT' : 'SIGTERM')
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  }

  /** From now on a failure that nobody caught ends what runs in order. */
  watchFailures(): void {
    process.on('uncaughtException', error => this.fail(error, 'a failure that nobody caught'))
  }

  /** Ends what runs in order, and the process with exit code 1, so that a supervisor starts it anew. */
  fail(error: Error, what: string): void {
    this.#log.fatal({ error }, `${what}: stopping, to be started anew`)
    if (this.#hasBegun) return
    this.#hasBegun = true
    // What a killed process leaves behind, the next start puts in order.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), stuckMs).unref()
    this.#resolve('failure')
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }
}
