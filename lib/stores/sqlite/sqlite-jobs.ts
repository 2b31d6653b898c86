import type { Clock } from '../../platform/clock.ts'
import type { Job, JobName, NewJob } from '../../ledger/job.ts'
import type { BalanceBook } from '../../ledger/balance-book.ts'
import type { KeySpending } from '../../ledger/key-spending.ts'
import type { ChargeRequest, ChargeResult, HeldSums } from '../../ledger/ledger.ts'
import { paidFlags, priceCharge } from '../../ledger/price-charge.ts'
import {
  chargeOperation,
  releaseOperation,
  type EndJobOperation,
  type JobHold,
  type StoreSnapshot,
} from '../shared/store-operation.ts'
import { claimStatement, jobRecord, postponeStatement, type JobRow } from '../shared/stored-ledger.ts'
import { runStatements } from './sqlite-database.ts'
import { kept, type OperationOwner, type Ticket } from '../shared/write-batch.ts'
import type { WriteQueue } from '../shared/write-queue.ts'

interface SqliteJobsOptions {
  readonly queue: WriteQueue
  readonly book: BalanceBook
  readonly spending: KeySpending
  readonly clock: Clock
  /** The holds of open jobs of previous processes. */
  readonly holds: StoreSnapshot['jobHolds']
  /** Resolves when an operation is on disk. */
  readonly durable: (ticket: Ticket) => Promise<void>
  readonly isStrict: boolean
}

function nameOf({ provider, kind, id }: JobName): string {
  return JSON.stringify([provider, kind, id])
}

function endOperation({ provider, kind, id }: JobName, ending: EndJobOperation['ending']): EndJobOperation {
  return { kind: 'end-job', provider, jobKind: kind, id, ending }
}

/** Jobs on SQLite. Their holds are in memory, which decides the caller that ends a job; the rest is read from disk. */
export class SqliteJobs {
  readonly #options: SqliteJobsOptions
  readonly #open = new Map<string, JobHold>()

  constructor(options: SqliteJobsOptions) {
    this.#options = options
    for (const hold of options.holds) {
      this.#open.set(nameOf(hold), hold)
      options.book.restoreHold(hold.accountId, hold)
      options.spending.hold(hold.keyId, hold)
    }
  }

  /** The sums of a key's holds: those of its open jobs, and those of the given others. */
  heldOf(keyId: string, others: readonly (HeldSums & { readonly keyId: string })[]): HeldSums {
    const own = [...this.#open.values(), ...others].filter(one => one.keyId === keyId)
    return {
      likelyMicros: own.reduce((sum, one) => sum + one.likelyMicros, 0),
      worstMicros: own.reduce((sum, one) => sum + one.worstMicros, 0),
    }
  }

  has(name: JobName): boolean {
    return this.#open.has(nameOf(name))
  }

  /**
   * The hold's money stays set aside; `owner` owns both the hold and the job. Resolves with false when the job was
   * known.
   */
  async open(hold: JobHold, owner: OperationOwner, job: NewJob): Promise<boolean> {
    const { exchangeId, sequence, accountId, keyId } = hold
    const { queue, clock, durable } = this.#options
    this.#open.set(nameOf(job), hold)
    const facts = JSON.stringify(job.facts)
    const own = { exchangeId, sequence, accountId, keyId, facts, at: clock.now() }
    const ticket = queue.add({ ...job, kind: 'job', jobKind: job.kind, ...own }, owner)
    await durable(ticket)
    if (ticket.batch.answerAt(ticket.index) !== false) return true
    this.drop(hold)
    return false
  }

  /** Releases the hold of a job that could not be written, or was ended under another hold. */
  drop(hold: JobHold): void {
    for (const [name, open] of this.#open) if (open === hold) this.#open.delete(name)
    this.#releaseHold(hold)
  }

  async due(limit: number, leaseMs: number): Promise<readonly Job[]> {
    const { queue, clock } = this.#options
    const rows = await runStatements<JobRow>(queue, [claimStatement(clock.now(), leaseMs, limit)])
    return rows.map(jobRecord)
  }

  async charge(job: Job, request: ChargeRequest): Promise<ChargeResult | undefined> {
    const hold = this.#take(job)
    if (hold === undefined) return undefined
    const { book, spending, queue, clock, isStrict, durable } = this.#options
    const { lines, costMicros, flags } = priceCharge(request)
    const at = clock.now()
    const paid = book.settle(hold.accountId, hold, costMicros)
    spending.unhold(hold.keyId, hold)
    const spent = spending.spend(hold.keyId, costMicros, at)
    const result = { ...paid, flags: paidFlags(flags, paid.overrunMicros) }
    const ending = chargeOperation(hold, at, request, lines, result)
    const ticket = queue.add(endOperation(job, ending), {
      isKept: true,
      onRefused: () => {
        book.undoCharge(hold.accountId, costMicros)
        spending.unspend(spent)
      },
    })
    if (isStrict) await durable(ticket)
    return result
  }

  async release(job: Job): Promise<boolean> {
    const hold = this.#take(job)
    if (hold === undefined) return false
    this.#releaseHold(hold)
    const { queue, clock, isStrict, durable } = this.#options
    const ticket = queue.add(endOperation(job, releaseOperation(hold, 'released', clock.now())), kept)
    if (isStrict) await durable(ticket)
    return true
  }

  async postpone(job: JobName, nextPollAt: number): Promise<void> {
    await runStatements(this.#options.queue, [postponeStatement(job, nextPollAt)])
  }

  #take(job: JobName): JobHold | undefined {
    const name = nameOf(job)
    const hold = this.#open.get(name)
    this.#open.delete(name)
    return hold
  }

  #releaseHold(hold: JobHold): void {
    this.#options.book.unhold(hold.accountId, hold)
    this.#options.spending.unhold(hold.keyId, hold)
  }
}
