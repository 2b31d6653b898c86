import { HoldResolvedError, LedgerUnavailableError } from '../ledger/ledger.ts'
import type { HeldSums, Hold, HoldRequest, Micros } from '../ledger/ledger.ts'

const done = Promise.resolve()

/** A hold that another process has placed. It hears from there when the hold is on the disk. */
export class RemoteHold implements Hold {
  /** Names it between the two processes. */
  readonly id: number
  readonly exchangeId: string
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  likelyMicros: Micros
  worstMicros: Micros
  state: 'open' | 'charged' | 'released' | 'job' = 'open'
  #isDurable = false
  #failure: Error | undefined
  #waiting: PromiseWithResolvers<void> | undefined

  constructor(id: number, request: HoldRequest) {
    this.id = id
    this.exchangeId = request.exchangeId
    this.sequence = request.sequence
    this.accountId = request.accountId
    this.keyId = request.keyId
    this.likelyMicros = request.likelyMicros
    this.worstMicros = request.worstMicros
  }

  get isDurable(): boolean {
    return this.#isDurable
  }

  get failure(): Error | undefined {
    return this.#failure
  }

  get durable(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#isDurable) return done
    this.#waiting ??= Promise.withResolvers<void>()
    return this.#waiting.promise
  }

  /** Answers may come in another order than they were asked for in; no total ever falls. */
  raise({ likelyMicros, worstMicros }: HeldSums): void {
    this.likelyMicros = Math.max(this.likelyMicros, likelyMicros)
    this.worstMicros = Math.max(this.worstMicros, worstMicros)
  }

  becomeDurable(): void {
    this.#isDurable = true
    this.#waiting?.resolve()
  }

  /** It could not be written, and holds nothing any more. */
  fail(error: Error): void {
    this.#isDurable = false
    this.#failure = error
    this.#waiting?.reject(error)
  }

  /**
   * Called before it is resolved.
   * @throws HoldResolvedError when it is already
   * @throws LedgerUnavailableError when it could not be written
   */
  checkOpen(): void {
    if (this.state !== 'open') throw new HoldResolvedError(this, this.state)
    if (this.#failure === undefined) return
    throw new LedgerUnavailableError(this.#failure.message, { cause: this.#failure })
  }
}
