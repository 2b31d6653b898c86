import type { DialectName } from '../dialects/dialect.ts'
import type { Micros } from '../money/amount.ts'
import type { Meters, ObjectKind } from '../money/usage.ts'

/** What a job's charge will need, and cannot be asked of anybody later. */
export interface JobFacts {
  /** The name the provider was asked for; empty where the request named no model. */
  readonly upstreamModel: string
  /**
   * The versions (hashes) of the prices in force when the job was submitted, by the model's name at the
   * provider. The empty name stands for every other model.
   */
  readonly priceVersions: Readonly<Record<string, string>>
  /** Units known from the request, such as seconds of video, and the variant they are priced by. */
  readonly units?: Meters
  readonly variant?: string
  /** How many of what it makes those units are of; 1 unless said. */
  readonly candidates?: number
  /** Where the requests of a batch go, which says what their results look like. */
  readonly endpoint?: string
  /** Of a part of a batch: the ids that its requests were given, by which their results are known. */
  readonly requestIds?: readonly string[]
  /** The submission was answered by a stream, which tells what was said of the job while it lasts. */
  readonly isStreamed?: boolean
}

/** Which job: ids are unique within a kind of one provider. */
export interface JobName {
  readonly provider: string
  readonly kind: ObjectKind
  readonly id: string
}

/** A job as its submission leaves it: work that a provider goes on with after it has answered. */
export interface NewJob extends JobName {
  /** The credential's name in the config, never its value: only with it can the job be asked after. */
  readonly credential: string
  readonly dialect: DialectName
  /** The operation that submitted it, as the charge will name it. */
  readonly operation: string
  /** By its canonical name in the config; empty without a model. */
  readonly model: string
  readonly facts: JobFacts
  /** Milliseconds since the epoch. */
  readonly nextPollAt: number
  /** When its final state is given up on. */
  readonly deadlineAt: number
}

/** A job and the hold that waits for its end. */
export interface Job extends NewJob {
  /** The submission's, whose hold it has. */
  readonly exchangeId: string
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
  readonly heldMicros: Micros
  readonly state: 'open' | 'charged' | 'released'
  /** How often the gateway itself has asked after it. */
  readonly polls: number
  readonly createdAt: number
}
