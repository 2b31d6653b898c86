import { detectMediaType } from '../http/media-sniff.ts'
import type { MediaFacts } from './media-facts.ts'
import { MediaReader, type MediaBudget } from './media-reader.ts'
import { MediaUnreadableError, type MediaSource } from './media-source.ts'

const headBytes = 4096

/** What was found out, and why not all of it. */
export interface MeasuredMedia {
  readonly facts: MediaFacts
  /** Set when its content cannot be what it begins as: nobody can read it. */
  readonly brokenBecause?: string
  /** Set when the gateway cannot say how long or large it is, though others may. */
  readonly unmeasuredBecause?: string
}

/**
 * Finds out what a file is and how long or large, from a bounded number of its bytes.
 * @throws Error when the source cannot be read at all, such as an upload that broke off
 */
export async function measureMedia(source: MediaSource, budget: MediaBudget): Promise<MeasuredMedia> {
  const reader = new MediaReader(source, budget)
  const mediaType = detectMediaType(await reader.read(0, headBytes))
  const facts = { bytes: await source.size(), ...(mediaType !== undefined && { mediaType }) }
  return { facts }
}

export { MediaUnreadableError }
