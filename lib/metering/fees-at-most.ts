import type { RequestFacts } from '../dialects/dialect.ts'
import type { Meters } from '../money/usage.ts'

/** https://openrouter.ai/docs/features/multimodal/pdfs: $2 for 1,000 pages that are read out, asked for or not. */
const openrouterPageUsd = 0.002
const pagesMax = 1000
/** https://openrouter.ai/docs/guides/features/plugins/web-search: $4 for 1,000 results, of which one search has 25 at most. */
const openrouterSearchUsd = 0.1

/** https://openrouter.ai/docs/guides/overview/multimodal/image-generation: an image of 4K by the most expensive of its models. */
const openrouterImageUsd = 0.4

/** What is billed by the piece beside tokens, at most: its searches, the request, and fees that only a stated cost tells of. */
export function feesAtMost(
  { media, writesImages, candidates }: Pick<RequestFacts, 'media' | 'writesImages' | 'candidates'>,
  providerKind: string,
  searches: number,
): Meters {
  if (providerKind !== 'openrouter') return { searches, requests: 1 }
  let pages = 0
  for (const part of media) {
    if (part.kind === 'document' || part.kind === 'other') pages += part.pages ?? pagesMax
  }
  const images = writesImages === true ? candidates : 0
  return {
    searches,
    requests: 1,
    statedUsd: images * openrouterImageUsd + pages * openrouterPageUsd + searches * openrouterSearchUsd,
  }
}
