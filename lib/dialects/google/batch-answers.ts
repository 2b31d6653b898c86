import type { Interest } from '../../http/json-scan.ts'
import type { BatchSum } from '../batch-sum.ts'
import { list, object, span, value } from '../interest.ts'
import { UsageFields } from '../usage-fields.ts'
import { generateNames, measureMetadata } from './usage-metadata.ts'

/** Where one answer of a batch says what it used, under names with a prefix. */
export function answerInterest(prefix = ''): Interest {
  const answer = object({
    usagemetadata: value(`${prefix}tokens`),
    // Of embeddings, the number alone.
    tokencount: value(`${prefix}count`),
    modelversion: value(`${prefix}version`),
    candidates: list(object({ groundingmetadata: object({ websearchqueries: value(`${prefix}queries`) }) })),
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

/** Gemini 2 bills a grounded prompt once, Gemini 3 every different query. */
export function countQueries(queries: unknown, model: string | undefined): number {
  if (!Array.isArray(queries)) return 0
  const count = new Set(queries.filter(query => typeof query === 'string' && query.trim() !== '')).size
  return /^(?:models\/)?gemini-[12]\b/.test(model ?? '') ? Math.min(1, count) : count
}
