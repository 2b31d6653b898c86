import type { BatchFacts } from '../money/batch-facts.ts'
import type { Meter, NamedObject } from '../money/usage.ts'

/** The requests of a batch: what they come to, or the uploaded file in which they stand. */
export interface BatchedRequests {
  readonly requests?: BatchFacts
  readonly file?: NamedObject
  /** Where all requests of the file must go. */
  readonly endpoint?: string
  /** Each of them must say so itself. */
  readonly isSaidByEach?: true
  /** The batch is made without any: they are added to it later. */
  readonly isEmpty?: true
  /** The ids under which their results will stand, where those of other requests stand among them. */
  readonly requestIds?: readonly string[]
  /** The model that the body names beside the one in the path or in the requests, and which must be the same. */
  readonly model?: string
  /** What a model must have a price for to be asked; that of the batch's operation unless said. */
  readonly mainMeter?: Meter
}
