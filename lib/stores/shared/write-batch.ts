import type { LedgerUnavailableError } from '../../ledger/ledger.ts'

/** The caller of an operation, and what becomes of the operation when it cannot be written. */
export interface OperationOwner {
  /**
   * Kept and retried after a failure of the disk; other operations are dropped then, and their callers get an error.
   */
  readonly isKept: boolean
  /** The store wrote the batch without this operation, which will never be written. */
  onRefused?(error: Error): void
}

/** For operations that must be written: retried until they are. */
export const kept: OperationOwner = { isKept: true }
/** For operations whose caller gets an error when they fail: they must not be written later. */
export const dropped: OperationOwner = { isKept: false }

/** Operations that are, or will be, one transaction. */
export interface Batch {
  readonly isCommitted: boolean
  /** The error that prevented the batch from being written, or undefined. Never rejects. */
  readonly ended: Promise<LedgerUnavailableError | undefined>
  /** Like `ended`, for kept operations: waits through failed attempts until they are written or the writer is gone. */
  readonly written: Promise<LedgerUnavailableError | undefined>
  answerAt(index: number): unknown
  refusalAt(index: number): Error | undefined
}

/** An operation that waits to be written. */
export interface Ticket {
  readonly batch: Batch
  readonly index: number
}

/** A batch that is collected, sent and, if necessary, sent again. */
export class GatheringBatch<Operation> implements Batch {
  operations: Operation[] = []
  owners: OperationOwner[] = []
  readonly #first = Promise.withResolvers<LedgerUnavailableError | undefined>()
  readonly #last = Promise.withResolvers<LedgerUnavailableError | undefined>()
  readonly ended = this.#first.promise
  readonly written = this.#last.promise
  isCommitted = false
  answers: Map<number, unknown> | undefined
  refusals: Map<number, Error> | undefined

  commit(): void {
    this.isCommitted = true
    // A hold refers to its batch, and a batch to the holds that end in it: the chain would stay in memory for ever.
    this.operations = []
    this.owners = []
    this.#first.resolve(undefined)
    this.#last.resolve(undefined)
  }

  /** An attempt failed; it is the last one when the writer is gone. */
  fail(error: LedgerUnavailableError, isLast: boolean): void {
    this.#first.resolve(error)
    if (isLast) this.#last.resolve(error)
  }

  answer(index: number, answer: unknown): void {
    this.answers ??= new Map()
    this.answers.set(index, answer)
  }

  refuse(index: number, error: Error): void {
    this.refusals ??= new Map()
    this.refusals.set(index, error)
    this.owners[index]?.onRefused?.(error)
  }

  answerAt(index: number): unknown {
    return this.answers?.get(index)
  }

  refusalAt(index: number): Error | undefined {
    return this.refusals?.get(index)
  }
}

/**
 * Waits until the kept operations of a batch are written, through failed attempts, for at most `patienceMs`. Resolves
 * with the error that prevented it. Their retries continue afterwards.
 */
export async function writtenWithin(
  batch: Batch,
  patienceMs: number,
): Promise<LedgerUnavailableError | undefined> {
  const error = await batch.ended
  if (error === undefined || patienceMs === 0) return error
  const { promise, resolve } = Promise.withResolvers<LedgerUnavailableError>()
  const timer = setTimeout(() => resolve(error), patienceMs)
  try {
    return await Promise.race([batch.written, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Resolves with the writer's result when an operation is on disk. */
export async function written(ticket: Ticket): Promise<unknown> {
  const error = await ticket.batch.ended
  if (error !== undefined) throw error
  const refusal = ticket.batch.refusalAt(ticket.index)
  if (refusal !== undefined) throw refusal
  return ticket.batch.answerAt(ticket.index)
}
