import type { Interest } from '../../http/json-scan.ts'
import type { BatchSum } from '../batch-sum.ts'
import { list, object, span, value } from '../interest.ts'
import { UsageFields } from '../usage-fields.ts'
import { groundingInterest } from './grounding.ts'
import { generateNames, measureMetadata } from './usage-metadata.ts'

/** Where one answer of a batch says what it used, under names with a prefix. */
export function answerInterest(prefix = ''): Interest {
  const answer = object({
    usagemetadata: value(`${prefix}tokens`),
    // Of embeddings, the number alone.
    tokencount: value(`${prefix}count`),
    modelversion: value(`${prefix}version`),
    candidates: list(object({ groundingmetadata: groundingInterest(prefix) })),
  })
  return { ...span(`${prefix}answer`), ...answer }
}

/** Adds what one answer used; answers false for a value that says nothing of it. */
export function addAnswer(sum: BatchSum, name: string, found: unknown, flags: Set<string>): boolean {
  const isTold = found !== undefined && found !== null
  if (!isTold || (name !== 'tokens' && name !== 'count')) return false
  const usage = name === 'tokens' ? found : { promptTokenCount: Number(found) }
  const measure = measureMetadata(new UsageFields(usage, flags), generateNames)
  if (measure === undefined) return false
  sum.add({ meters: measure.meters, tier: 'batch' }, measure.details)
  return true
}
