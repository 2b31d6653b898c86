import { GatewayError } from '../pipeline/errors.ts'
import { LedgerUnavailableError } from '../ledger/ledger.ts'
import type { Clock } from '../platform/clock.ts'
import { LateWrites } from '../platform/late-writes.ts'
import type { Log } from '../platform/log.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Exchange, Outcome } from '../pipeline/exchange.ts'
import { errorCountPeriodMs, type ErrorCount } from '../stores/records/error-count-table.ts'

/** The code that callers receive for an error. */
export function errorCode(error: Error): string {
  return error instanceof GatewayError ? error.code : 'internal'
}

interface ErrorCountsOptions {
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
  /** Stores the gathered counts, or passes them on. */
  readonly write: (counts: readonly ErrorCount[]) => Promise<void> | void
  /** How long errors gather before they are written. */
  readonly gatherMs?: number
}

const gatherMsDefault = 2000
/** How many codes are counted separately; external plugins bring their own. */
const codesMax = 500
const otherCodes = 'others'

/**
 * Counts how exchanges fail, by the code that the client received. The counts gather in memory, so that a flood of
 * refused requests costs one write in two seconds, and stay there while the store is unavailable.
 */
export class ErrorCounts {
  readonly #options: ErrorCountsOptions
  #gathered = new Map<string, ErrorCount>()
  readonly #writes: LateWrites
  #isClosed = false

  constructor(options: ErrorCountsOptions) {
    this.#options = options
    this.#writes = new LateWrites(
      () => this.#write(),
      () => this.#gathered.size === 0,
      options.gatherMs ?? gatherMsDefault,
    )
  }

  /** Counts what the bus reports from now on. */
  watch(bus: PipelineBus): void {
    bus.on('exchange-end', (exchange, outcome) => {
      const code = failureOf(exchange, outcome)
      if (code !== undefined) this.note([{ at: this.#options.clock.now(), code, count: 1 }])
    })
  }

  /** Adds counts, for instance those of another process. */
  readonly note = (counts: readonly ErrorCount[]): void => {
    if (this.#isClosed) return
    for (const one of counts) this.#add(one)
    this.#writes.expect()
  }

  /** Writes the gathered counts, for some seconds at most, and accepts no more. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#writes.close()
  }

  #add({ at, code, count }: ErrorCount): void {
    const begun = at - (at % errorCountPeriodMs)
    let name = `${begun} ${code}`
    let counted = code
    if (!this.#gathered.has(name) && this.#gathered.size >= codesMax) {
      name = `${begun} ${otherCodes}`
      counted = otherCodes
    }
    const known = this.#gathered.get(name)?.count ?? 0
    this.#gathered.set(name, { at: begun, code: counted, count: known + count })
  }

  async #write(): Promise<void> {
    const taken = this.#gathered
    if (taken.size === 0) return
    this.#gathered = new Map()
    try {
      await this.#options.write([...taken.values()])
    } catch (error) {
      for (const one of taken.values()) this.#add(one)
      // The store itself has reported that it is unavailable.
      if (!(error instanceof LedgerUnavailableError))
        this.#options.log.error({ error }, 'counts of errors could not be written; they are written later')
    }
  }
}

/** The gateway's code, or `provider_429` where the client received a provider's error unchanged. */
function failureOf({ responseStatus = 0 }: Exchange, outcome: Outcome): string | undefined {
  if ('error' in outcome) return errorCode(outcome.error)
  return outcome.kind === 'completed' && responseStatus >= 400 ? `provider_${responseStatus}` : undefined
}
