import type { Spent } from '../../ledger/key-spending.ts'
import { HoldResolvedError, unavailable } from '../../ledger/ledger.ts'
import type { HeldSums, Hold, HoldRequest, Micros } from '../../ledger/ledger.ts'
import type { HoldOperation } from '../shared/store-operation.ts'
import { writtenWithin } from '../shared/write-batch.ts'
import type { Batch, OperationOwner, Ticket } from '../shared/write-batch.ts'

/** The states of a hold. */
export type HoldState = 'open' | 'charged' | 'released' | 'expired' | 'failed' | 'job'

/** What a hold needs from its ledger when it could not be written. */
export interface HoldKeeper {
  readonly isStrict: boolean
  /** How long an exchange waits for a store that cannot be written. */
  readonly patienceMs: number
  /** The store refused the hold for good. */
  dropHold(hold: SqliteHold): void
  /** The store refused for good to give the hold to a job. */
  dropJob(hold: SqliteHold): void
  /** The store refused the charge for good: the account gets its money back. */
  undoCharge(hold: SqliteHold): void
  /** The store was unavailable for longer than `patienceMs`; the hold's caller gets an error. */
  abandonHold(hold: SqliteHold): void
}

const done = Promise.resolve()

/** A hold in memory, with the batch that writes it to disk; it is the owner of its own operations there. */
export class SqliteHold implements Hold, OperationOwner {
  readonly exchangeId: string
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  readonly budget?: NonNullable<HoldRequest['budget']>
  likelyMicros: Micros
  worstMicros: Micros
  /** By the steady clock. */
  readonly expiresAt: number
  readonly isKept = true
  state: HoldState = 'open'
  slot = -1
  failure: Error | undefined
  /** Its cost, once it is charged, and what of that was counted against its key's budget. */
  charged: { readonly costMicros: Micros; readonly spent: Spent | undefined } | undefined
  readonly #keeper: HoldKeeper
  #batch: Batch | undefined

  constructor(request: HoldRequest, worstMicros: Micros, expiresAt: number, keeper: HoldKeeper) {
    this.exchangeId = request.exchangeId
    this.sequence = request.sequence
    this.accountId = request.accountId
    this.keyId = request.keyId
    this.likelyMicros = request.likelyMicros
    // The account's risk decides which of the two worst sums counts.
    this.worstMicros = worstMicros
    if (request.budget !== undefined) this.budget = request.budget
    this.expiresAt = expiresAt
    this.#keeper = keeper
  }

  /** The hold as an operation for the writer; both times by the wall clock. */
  operation(owner: string, at: number, expiresAt: number): HoldOperation {
    return {
      kind: 'hold',
      exchangeId: this.exchangeId,
      sequence: this.sequence,
      accountId: this.accountId,
      keyId: this.keyId,
      likelyMicros: this.likelyMicros,
      worstMicros: this.worstMicros,
      owner,
      at,
      expiresAt,
    }
  }

  raise({ likelyMicros, worstMicros }: HeldSums): void {
    this.likelyMicros += likelyMicros
    this.worstMicros += worstMicros
  }

  /** Called by the ledger once the hold's operation is queued. */
  attachTo(ticket: Ticket): void {
    this.#batch = ticket.batch
  }

  get isDurable(): boolean {
    if (this.failure !== undefined) return false
    return !this.#keeper.isStrict || this.#batch?.isCommitted === true
  }

  // Created on demand: most callers check isDurable and never need the promise.
  get durable(): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure)
    if (this.isDurable || this.#batch === undefined) return done
    return this.#becomeDurable(this.#batch)
  }

  async #becomeDurable(batch: Batch): Promise<void> {
    const error = await writtenWithin(batch, this.#keeper.patienceMs)
    if (error !== undefined && this.failure === undefined) {
      this.failure = error
      if (this.state === 'open') this.#keeper.abandonHold(this)
    }
    if (this.failure !== undefined) throw this.failure
  }

  onRefused(error: Error): void {
    this.failure = error
    if (this.state === 'open') this.#keeper.dropHold(this)
    else if (this.state === 'charged') this.#keeper.undoCharge(this)
    else if (this.state === 'job') this.#keeper.dropJob(this)
  }
}

/**
 * Returns a hold of this ledger that is in one of the given states.
 * @throws HoldResolvedError when it is in another state
 * @throws LedgerUnavailableError when it could not be written
 */
export function openHold(hold: Hold, states: readonly HoldState[] = ['open']): SqliteHold {
  if (!(hold instanceof SqliteHold)) throw new TypeError('the hold belongs to another ledger')
  if (hold.state === 'failed' && hold.failure !== undefined) throw unavailable(hold.failure)
  if (!states.includes(hold.state)) throw new HoldResolvedError(hold, hold.state)
  return hold
}
