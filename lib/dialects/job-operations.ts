import type { Operation } from './dialect.ts'
import { freeOperation } from './free-operation.ts'

/** What can be asked of a job by its id. */
interface JobOperations {
  /** How it stands, and what came of it. */
  readonly stored: Operation
  /** The same, after it was told to stop. */
  readonly cancelled: Operation
  /** It is taken away. */
  readonly deleted: Operation
}

/**
 * What is asked of a job by its id, which is free: the submission pays.
 * @param of the kind's name in those of the operations: `batch`
 */
export function jobOperations(of: string, readUsage: NonNullable<Operation['readUsage']>): JobOperations {
  const stored: Operation = { ...freeOperation(`stored-${of}`), readUsage, namesObjects: true, job: 'reads' }
  return {
    stored,
    cancelled: { ...stored, body: 'opaque' },
    deleted: { ...freeOperation(`deleted-${of}`, { body: 'opaque' }), job: 'ends', isDeletion: true },
  }
}
