import type { LedgerUnavailableError } from '../../ledger/ledger.ts'

/** Who stands behind an operation, and what becomes of it when it cannot be written. */
export interface OperationOwner {
  /** Kept and tried again after a failure of the disk; others are dropped then, and their callers told. */
  readonly isKept: boolean
  /** The store took the batch but not this operation: it will never be written. */
  onRefused?(error: Error): void
}

/** What is owed is tried again until it is written. */
export const kept: OperationOwner = { isKept: true }
/** Whoever asked is told that it failed, and must not find later that it was done after all. */
export const dropped: OperationOwner = { isKept: false }

/** Operations that are, or will be, one transaction. */
export interface Batch {
  readonly isCommitted: boolean
  /** The error that kept the batch from being written, or undefined. Never rejects. */
  readonly ended: Promise<LedgerUnavailableError | undefined>
  /** As `ended`, for what is kept: waits through failed attempts, until it is written or the writer is gone. */
  readonly written: Promise<LedgerUnavailableError | undefined>
  answerAt(index: number): unknown
  refusalAt(index: number): Error | undefined
}

/** An operation that waits to be written. */
export interface Ticket {
  readonly batch: Batch
  readonly index: number
}

/** A batch that is gathered, sent and, if need be, sent again. */
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
    // A hold knows its batch, and a batch the holds that end in it: they would keep each other for ever.
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
 * Waits until the kept operations of a batch are written, through failed attempts, for so long at most.
 * Answers the error that kept them from it. They are tried again afterwards all the same.
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

/** Resolves when an operation is on the disk, with the writer's answer to it. */
export async function written(ticket: Ticket): Promise<unknown> {
  const error = await ticket.batch.ended
  if (error !== undefined) throw error
  const refusal = ticket.batch.refusalAt(ticket.index)
  if (refusal !== undefined) throw refusal
  return ticket.batch.answerAt(ticket.index)
}
