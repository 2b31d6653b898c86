import type { ObjectKind } from '../money/usage.ts'
import type { Operation } from './dialect.ts'
import { freeOperation } from './free-operation.ts'

/**
 * How the jobs of one kind are asked after, by clients and by the gateway itself. Readers say what they saw
 * in `UsageReading.job`; to them a job's facts are those of its submission (units, variant, model).
 */
export interface JobKind {
  readonly kind: ObjectKind
  /** Whose `readUsage` reads the answer at `path`. */
  readonly retrieval: Operation
  /** Whose `readUsage` reads the document that `JobSighting.resultsPath` names. */
  readonly results?: Operation
  /** Below the dialect's base URL, where a provider of this kind has it. */
  path(id: string, providerKind: string): string
  /** After so long a job has ended, whatever is known of it. */
  readonly durationMsMax: number
  /** It is a rent: what the job is about is paid for again whenever so long has passed, until it is there no more. */
  readonly rentMs?: number
}

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
