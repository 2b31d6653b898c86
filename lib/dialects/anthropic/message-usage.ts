import { addDetail, addUsed } from '../measure.ts'
import type { Measure } from '../measure.ts'
import type { UsageFields } from '../usage-fields.ts'

/**
 * Tokens as Anthropic counts them: `input_tokens` excludes what was read from or written to the cache,
 * and `output_tokens` includes thinking. `later` overrides `earlier` field by field, since the closing
 * event of a stream repeats only some fields. Undefined when no tokens are counted.
 */
export function measureMessage(later: UsageFields, earlier: UsageFields = later): Measure | undefined {
  const count = (name: string): number | undefined => later.count(name) ?? earlier.count(name)
  const input = count('input_tokens')
  const output = count('output_tokens')
  if (input === undefined && output === undefined) return undefined
  const meters: Measure['meters'] = {}
  if (input !== undefined) meters.input = input
  addUsed(meters, 'cachedInput', count('cache_read_input_tokens'))
  addCacheWrites(meters, later, earlier)
  if (output !== undefined) meters.output = output
  const details: Measure['details'] = {}
  const thinking = (usage: UsageFields): number | undefined =>
    usage.within('output_tokens_details').count('thinking_tokens')
  addDetail(details, 'reasoning', thinking(later) ?? thinking(earlier))
  return { meters, details }
}

/** The split by lifetime is often named once, and then the total grows: the rest has the usual five minutes. */
function addCacheWrites(meters: Measure['meters'], later: UsageFields, earlier: UsageFields): void {
  const split = later.has('cache_creation')
    ? later.within('cache_creation')
    : earlier.within('cache_creation')
  const short = split.count('ephemeral_5m_input_tokens') ?? 0
  const long = split.count('ephemeral_1h_input_tokens') ?? 0
  const total =
    later.count('cache_creation_input_tokens') ?? earlier.count('cache_creation_input_tokens') ?? short + long
  if (short + long > total) later.flag('usage_inconsistent')
  const longWrites = Math.min(long, total)
  addUsed(meters, 'cacheWrite1h', longWrites)
  addUsed(meters, 'cacheWrite5m', total - longWrites)
}
