import type { ObjectKind } from '../money/usage.ts'
import type { Operation } from './dialect.ts'

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
