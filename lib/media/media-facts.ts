import type { ObjectFacts } from '../money/usage.ts'

/** What is known of a picture, sound, film or document by its content. */
export interface MediaFacts extends ObjectFacts {
  readonly bytes: number
}
