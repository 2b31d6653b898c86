import type { Meters, UsageLine } from '../../money/usage.ts'
import { addDetail, addUsed, type ResponseMeasure, type Measure, UsageFields } from '../measure.ts'

const empty = new UsageFields(undefined, new Set())

/**
 * Tokens as Anthropic counts them: `input_tokens` excludes what was read from or written to the cache,
 * and `output_tokens` includes thinking. `later` overrides `earlier` field by field, since the closing
 * event of a stream repeats only some fields. Undefined when no tokens are counted.
 */
function measureMessage(later: UsageFields, earlier: UsageFields = later): Measure | undefined {
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

/**
 * The split by lifetime is often reported once while the total keeps growing; the rest has the default five minutes.
 */
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

/**
 * The usage of a message in lines by model: compaction, advisors and fallbacks are billed in addition to the message,
 * each at its own model's price, and appear in `iterations` only.
 * @param unnamedTier the tier charged where the usage names neither a tier nor a speed
 */
export function measureLines(
  later: UsageFields,
  earlier: UsageFields = empty,
  unnamedTier?: string,
): ResponseMeasure {
  const whole = measureMessage(later, earlier)
  if (whole === undefined) return { lines: [], details: {} }
  const iterations = later.has('iterations') ? later.items('iterations') : earlier.items('iterations')
  const byModel = new Map<string, Meters>()
  const billed = billedAttempts(iterations)
  for (const iteration of billed) {
    const meters = measureMessage(iteration)?.meters
    if (meters !== undefined) addTo(byModel, iteration.text('model') ?? '', meters)
  }
  if (byModel.size === 0) byModel.set('', whole.meters)
  const [main = {}] = byModel.values()
  addUsed(main, 'searches', countSearches(later) ?? countSearches(earlier))
  const tier = [readTier(later, earlier, unnamedTier), readGeography(later, earlier)]
    .filter(Boolean)
    .join('+')
  const lines = [...byModel].map(([model, meters]): UsageLine => ({
    ...(model !== '' && { model }),
    meters,
    ...(tier !== '' && { tier }),
  }))
  const details = { ...whole.details }
  addDetail(details, 'costUsd', later.number('cost'))
  return { lines, details }
}

/** An attempt that declined before it wrote any output is listed before its fallback and is not billed. */
function billedAttempts(iterations: readonly UsageFields[]): readonly UsageFields[] {
  const hasFallback = iterations.some(iteration => iteration.text('type') === 'fallback_message')
  if (!hasFallback) return iterations
  return iterations.filter(
    (iteration, index) => index === iterations.length - 1 || iteration.count('output_tokens') !== 0,
  )
}

function addTo(byModel: Map<string, Meters>, model: string, meters: Meters): void {
  const sum = byModel.get(model) ?? {}
  for (const [meter, units] of Object.entries(meters) as [keyof Meters, number][])
    sum[meter] = (sum[meter] ?? 0) + units
  byModel.set(model, sum)
}

/** The provider does not count failed searches either. */
function countSearches(usage: UsageFields): number | undefined {
  return usage.within('server_tool_use').count('web_search_requests')
}

/** The fast mode is priced higher than any service tier, so it takes precedence. */
function readTier(
  later: UsageFields,
  earlier: UsageFields,
  unnamedTier: string | undefined,
): string | undefined {
  const speed = later.text('speed') ?? earlier.text('speed')
  if (speed === 'fast') return speed
  const tier = later.text('service_tier') ?? earlier.text('service_tier')
  if (speed === undefined && unnamedTier !== undefined && (tier === undefined || unnamedTier === 'fast'))
    return unnamedTier
  return tier === 'standard' ? undefined : tier
}

/** Data that must stay in the United States costs more, in every tier. */
function readGeography(later: UsageFields, earlier: UsageFields): string | undefined {
  const geography = later.text('inference_geo') ?? earlier.text('inference_geo')
  return geography === 'us' ? 'us' : undefined
}
