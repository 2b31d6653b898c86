import { AccountError } from '../accounts/accounts.ts'
import { LedgerUnavailableError } from '../ledger/ledger.ts'
import type { BatchReport, StoreOperation } from './store-operation.ts'

/** Who stands behind an operation, and what becomes of it when it cannot be written. */
export interface OperationOwner {
  /** Kept and tried again after a failure of the disk; others are dropped then, and their callers told. */
  readonly isKept: boolean
  /** The batch could not be written. */
  onUnavailable?(error: LedgerUnavailableError): void
  /** The store took the batch but not this operation: it will never be written. */
  onRefused?(error: Error): void
}

/** Operations that are, or will be, one transaction. */
export interface Batch {
  readonly isCommitted: boolean
  /** The error that kept the batch from being written, or undefined. Never rejects. */
  readonly ended: Promise<LedgerUnavailableError | undefined>
  answerAt(index: number): unknown
  refusalAt(index: number): Error | undefined
}

export interface Ticket {
  readonly batch: Batch
  readonly index: number
}

class GatheringBatch implements Batch {
  readonly operations: StoreOperation[] = []
  readonly owners: OperationOwner[] = []
  readonly ended: Promise<LedgerUnavailableError | undefined>
  readonly end: (error: LedgerUnavailableError | undefined) => void
  isCommitted = false
  answers: Map<number, unknown> | undefined
  refusals: Map<number, Error> | undefined

  constructor() {
    const { promise, resolve } = Promise.withResolvers<LedgerUnavailableError | undefined>()
    this.ended = promise
    this.end = resolve
  }

  answerAt(index: number): unknown {
    return this.answers?.get(index)
  }

  refusalAt(index: number): Error | undefined {
    return this.refusals?.get(index)
  }
}

interface WriteQueueOptions {
  /** Sends operations to the writer, whose answer comes back by `onReport`. */
  readonly send: (operations: readonly StoreOperation[]) => void
  /** Called when the store stops or starts to take writes. */
  readonly onAvailable: (error: LedgerUnavailableError | undefined) => void
  readonly retryMs: number
}

/**
 * Gathers operations while the writer is busy and sends them as one batch the moment it is not: nobody
 * waits for a batch to fill.
 */
export class WriteQueue {
  readonly #options: WriteQueueOptions
  #gathering = new GatheringBatch()
  #sent: GatheringBatch | undefined
  /** Operations of failed batches, to be written before all others. */
  #kept: { readonly operations: StoreOperation[]; readonly owners: OperationOwner[] } = {
    operations: [],
    owners: [],
  }
  #sentKept = 0
  #isScheduled = false
  #retryTimer: NodeJS.Timeout | undefined
  #failure: LedgerUnavailableError | undefined
  #isEnded = false
  #onIdle: (() => void) | undefined

  constructor(options: WriteQueueOptions) {
    this.#options = options
  }

  /** Why nothing can be written at present; undefined when all is well. */
  get failure(): LedgerUnavailableError | undefined {
    return this.#failure
  }

  add(operation: StoreOperation, owner: OperationOwner): Ticket {
    const batch = this.#gathering
    const index = batch.operations.push(operation) - 1
    batch.owners.push(owner)
    if (this.#isFree && !this.#isScheduled) this.#schedule()
    return { batch, index }
  }

  /** The writer's answer to what was sent last. */
  onReport(report: BatchReport): void {
    const batch = this.#sent
    if (batch === undefined) throw new Error('the writer answered a batch that was not sent')
    this.#sent = undefined
    if (report.error === undefined) this.#committed(batch, report)
    else {
      const { code, message } = report.error
      // A full disk may have room again. Until then everything waits in memory.
      this.#retryTimer = setTimeout(() => this.#retry(), this.#options.retryMs)
      this.#failed(batch, new LedgerUnavailableError(`the store cannot be written: ${message} (${code})`))
      this.#onIdle?.()
    }
  }

  /** The writer is gone for good: everything that waits fails, and everything that comes. */
  stop(error: LedgerUnavailableError): void {
    this.#isEnded = true
    clearTimeout(this.#retryTimer)
    this.#retryTimer = undefined
    if (this.#sent !== undefined) this.#failed(this.#sent, error)
    this.#sent = undefined
    this.#setFailure(error)
    if (this.#gathering.operations.length > 0) this.#schedule()
    this.#onIdle?.()
  }

  /**
   * Resolves when everything that was added is written; what failed before is tried once more.
   * @throws LedgerUnavailableError when some of it cannot be written
   */
  async flush(): Promise<void> {
    if (this.#retryTimer !== undefined) {
      clearTimeout(this.#retryTimer)
      this.#retry()
    }
    while (!this.#isEnded && (this.#sent !== undefined || this.#waiting > 0)) {
      await new Promise<void>(resolve => {
        this.#onIdle = resolve
      })
      if (this.#failure !== undefined) break
    }
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Neither is a batch on its way nor is the next attempt put off. */
  get #isFree(): boolean {
    return this.#sent === undefined && this.#retryTimer === undefined
  }

  get #waiting(): number {
    return this.#gathering.operations.length + this.#kept.operations.length
  }

  #schedule(): void {
    this.#isScheduled = true
    // Calls that are made in the same moment go together.
    queueMicrotask(() => {
      this.#isScheduled = false
      if (this.#isFree && this.#gathering.operations.length > 0) this.#send()
    })
  }

  #retry(): void {
    this.#retryTimer = undefined
    this.#send()
  }

  #send(): void {
    const batch = this.#gathering
    this.#gathering = new GatheringBatch()
    if (this.#isEnded) {
      this.#failed(batch, this.#failure ?? new LedgerUnavailableError('the store is closed'))
      return
    }
    this.#sent = batch
    this.#sentKept = this.#kept.operations.length
    this.#options.send(
      this.#sentKept === 0 ? batch.operations : [...this.#kept.operations, ...batch.operations],
    )
  }

  #committed(batch: GatheringBatch, report: BatchReport): void {
    const keptOwners = this.#kept.owners
    if (this.#sentKept > 0) this.#kept = { operations: [], owners: [] }
    for (const [position, code, message] of report.refusals) {
      const error = new AccountError(code, message)
      const index = position - this.#sentKept
      if (index < 0) keptOwners[position]?.onRefused?.(error)
      else {
        batch.refusals ??= new Map()
        batch.refusals.set(index, error)
        batch.owners[index]?.onRefused?.(error)
      }
    }
    for (const [position, answer] of report.answers) {
      batch.answers ??= new Map()
      batch.answers.set(position - this.#sentKept, answer)
    }
    batch.isCommitted = true
    this.#setFailure(undefined)
    batch.end(undefined)
    if (this.#gathering.operations.length > 0) this.#send()
    else this.#onIdle?.()
  }

  #failed(batch: GatheringBatch, error: LedgerUnavailableError): void {
    this.#setFailure(error)
    for (const [index, owner] of batch.owners.entries()) {
      const operation = batch.operations[index]
      if (owner.isKept && operation !== undefined) {
        this.#kept.operations.push(operation)
        this.#kept.owners.push(owner)
      }
      owner.onUnavailable?.(error)
    }
    batch.end(error)
  }

  #setFailure(error: LedgerUnavailableError | undefined): void {
    if ((error === undefined) !== (this.#failure === undefined)) this.#options.onAvailable(error)
    this.#failure = error
  }
}
