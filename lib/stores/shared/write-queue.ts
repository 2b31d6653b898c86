import { AccountError } from '../../accounts/accounts.ts'
import { LedgerUnavailableError } from '../../ledger/ledger.ts'
import type { StoreOptions } from '../store.ts'
import type { BatchReport, StoreOperation } from './store-operation.ts'
import { GatheringBatch, type OperationOwner, type Ticket } from './write-batch.ts'

/** How long an operation without a waiting caller may wait for others to be written with it. */
const unhurriedMs = 250

const retryMsDefault = 250
/** How long an exchange waits by default for a store that cannot be written. */
export const storePatienceMs = 60_000

/** An operation of a failed batch, to be written before all others. */
interface KeptOperation<Operation> {
  readonly operation: Operation
  readonly batch: GatheringBatch<Operation>
  readonly index: number
}

interface WriteQueueOptions<Operation> {
  /** Sends operations to the writer, which reports by `onReport`. */
  readonly send: (operations: readonly Operation[]) => void
  /** Called when the store has stopped or resumed accepting writes. */
  readonly onChange: () => void
  /** Between attempts while the store refuses writes; a quarter of a second by default. */
  readonly retryMs?: number
  /** The queue is full while at least this many operations wait. */
  readonly waitingMax: number
}

/**
 * Collects operations while the writer is busy and sends them as one batch as soon as it is free: no caller waits for a
 * batch to fill.
 */
export class WriteQueue<Operation = StoreOperation> {
  readonly #options: WriteQueueOptions<Operation>
  #gathering = new GatheringBatch<Operation>()
  #sent: GatheringBatch<Operation> | undefined
  #kept: KeptOperation<Operation>[] = []
  #sentKept = 0
  #isScheduled = false
  /** A caller waits for an operation of the batch being collected. */
  #isHurried = false
  #unhurriedTimer: NodeJS.Timeout | undefined
  #retryTimer: NodeJS.Timeout | undefined
  /** Why nothing can be written at present; undefined when writes succeed. */
  failure: LedgerUnavailableError | undefined
  #isEnded = false
  #onIdle: (() => void) | undefined

  constructor(options: WriteQueueOptions<Operation>) {
    this.#options = options
  }

  /**
   * The writer does not keep up. `add` still accepts operations, since they may end something that runs; a caller that
   * begins something new should check this first.
   */
  get isFull(): boolean {
    return this.waiting >= this.#options.waitingMax
  }

  /** Operations that the writer has not been sent yet, or must be sent again. */
  get waiting(): number {
    return this.#gathering.operations.length + this.#kept.length
  }

  add(operation: Operation, owner: OperationOwner): Ticket {
    this.#isHurried = true
    const ticket = this.#gather(operation, owner)
    if (this.#isFree && !this.#isScheduled) this.#schedule()
    return ticket
  }

  /** Adds an operation without a waiting caller: it is written with the next one, or a quarter of a second later. */
  addUnhurried(operation: Operation, owner: OperationOwner): void {
    this.#gather(operation, owner)
    this.#unhurriedTimer ??= setTimeout(() => this.#hurry(), unhurriedMs)
  }

  #gather(operation: Operation, owner: OperationOwner): Ticket {
    const batch = this.#gathering
    const index = batch.operations.push(operation) - 1
    batch.owners.push(owner)
    return { batch, index }
  }

  /** Sends the collected operations without waiting for more. */
  #hurry(): void {
    clearTimeout(this.#unhurriedTimer)
    this.#unhurriedTimer = undefined
    this.#isHurried = true
    if (this.#isFree && !this.#isScheduled) this.#schedule()
  }

  /** The writer's report on the batch that was sent last. */
  onReport(report: BatchReport): void {
    const batch = this.#sent
    if (batch === undefined) throw new Error('the writer answered a batch that was not sent')
    this.#sent = undefined
    if (report.error === undefined) this.#committed(batch, report)
    else {
      const { code, message } = report.error
      // Space may become free on a full disk. Until then everything waits in memory.
      this.#retryTimer = setTimeout(() => this.#retry(), this.#options.retryMs ?? retryMsDefault)
      this.#failed(batch, new LedgerUnavailableError(`the store cannot be written: ${message} (${code})`))
      this.#onIdle?.()
    }
  }

  /** The writer is gone for good: everything that waits fails, and everything that is added later. */
  stop(error: LedgerUnavailableError): void {
    this.#isEnded = true
    clearTimeout(this.#retryTimer)
    this.#retryTimer = undefined
    if (this.#sent !== undefined) this.#failed(this.#sent, error)
    this.#sent = undefined
    for (const { batch } of this.#kept) batch.fail(error, true)
    this.#setFailure(error)
    if (this.#gathering.operations.length > 0) this.#hurry()
    this.#onIdle?.()
  }

  /**
   * Resolves when everything that was added is written; retries what failed before once more.
   * @throws LedgerUnavailableError when some of it cannot be written
   */
  async flush(): Promise<void> {
    if (this.#retryTimer !== undefined) {
      clearTimeout(this.#retryTimer)
      this.#retry()
    }
    this.#hurry()
    while (!this.#isEnded && (this.#sent !== undefined || this.waiting > 0)) {
      await new Promise<void>(resolve => {
        this.#onIdle = resolve
      })
      if (this.failure !== undefined) break
    }
    if (this.failure !== undefined) throw this.failure
  }

  /** No batch is in flight, and no retry is pending. */
  get #isFree(): boolean {
    return this.#sent === undefined && this.#retryTimer === undefined
  }

  #schedule(): void {
    this.#isScheduled = true
    // Operations of all requests that were read in this turn of the event loop go together, in the turn after it:
    // undici writes to a reused connection in an immediate of its own, so the request leaves for its provider before
    // its hold goes to the writer, which on one core would run first.
    setImmediate(() => setImmediate(() => this.#sendGathered()))
  }

  #sendGathered(): void {
    this.#isScheduled = false
    if (this.#isFree && this.#gathering.operations.length > 0) this.#send()
  }

  #retry(): void {
    this.#retryTimer = undefined
    this.#send()
  }

  #send(): void {
    const batch = this.#gathering
    this.#gathering = new GatheringBatch<Operation>()
    this.#isHurried = false
    clearTimeout(this.#unhurriedTimer)
    this.#unhurriedTimer = undefined
    if (this.#isEnded) {
      this.#failed(batch, this.failure ?? new LedgerUnavailableError('the store is closed'))
      return
    }
    this.#sent = batch
    this.#sentKept = this.#kept.length
    this.#options.send(
      this.#sentKept === 0
        ? batch.operations
        : [...this.#kept.map(({ operation }) => operation), ...batch.operations],
    )
  }

  #committed(batch: GatheringBatch<Operation>, report: BatchReport): void {
    const kept = this.#kept
    if (kept.length > 0) this.#kept = []
    const place = (position: number): Ticket & { readonly batch: GatheringBatch<Operation> } =>
      kept[position] ?? { batch, index: position - this.#sentKept }
    for (const [position, code, message] of report.refusals) {
      const { batch: own, index } = place(position)
      own.refuse(index, new AccountError(code, message))
    }
    for (const [position, answer] of report.answers) {
      const { batch: own, index } = place(position)
      own.answer(index, answer)
    }
    for (const { batch: own } of kept) if (!own.isCommitted) own.commit()
    batch.commit()
    this.#setFailure(undefined)
    if (this.#gathering.operations.length === 0) this.#onIdle?.()
    else if (this.#isHurried && !this.#isScheduled) this.#schedule()
  }

  #failed(batch: GatheringBatch<Operation>, error: LedgerUnavailableError): void {
    this.#setFailure(error)
    for (const [index, operation] of batch.operations.entries()) {
      if (batch.owners[index]?.isKept === true) this.#kept.push({ operation, batch, index })
    }
    batch.fail(error, this.#isEnded)
  }

  #setFailure(error: LedgerUnavailableError | undefined): void {
    const isChange = (error === undefined) !== (this.failure === undefined)
    this.failure = error
    if (isChange) this.#options.onChange()
  }
}

interface StoreQueueOptions<Operation> extends Pick<StoreOptions, 'log' | 'onAvailable'> {
  readonly waitingMax: number
  readonly send: (operations: readonly Operation[]) => void
  readonly isClosing: () => boolean
  /** Why the store cannot be written, beside writes that fail. */
  readonly lost?: () => LedgerUnavailableError | undefined
}

/**
 * Opens the queue of a store, and tracks whether the store can be used: readiness and metrics read `failure`; changes
 * go to the log and the alarm.
 */
export function storeQueue<Operation>(options: StoreQueueOptions<Operation>) {
  const { waitingMax, send, log, onAvailable, isClosing, lost } = options
  let isWell = true
  const failure = (): LedgerUnavailableError | undefined => queue.failure ?? lost?.()
  /** Reports each change once, and none while the store is closing. */
  const check = (): void => {
    const error = failure()
    if (isClosing() || (error === undefined) === isWell) return
    isWell = error === undefined
    if (error === undefined) log?.info({}, 'the store can be written again')
    else log?.error({ error }, 'the store cannot be written; no paid request is admitted')
    onAvailable?.(error)
  }
  const queue: WriteQueue<Operation> = new WriteQueue({ waitingMax, send, onChange: check })
  return { queue, failure, check }
}
