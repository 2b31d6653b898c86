import type { Meters, UsageLine } from '../../money/usage.ts'
import { addDetail, addUsed } from '../measure.ts'
import type { AnswerMeasure } from '../measure.ts'
import { UsageFields } from '../usage-fields.ts'
import { measureMessage } from './message-usage.ts'

const empty = new UsageFields(undefined, new Set())

/**
 * What a message comes to, in lines by model: compaction, advisors and fallbacks are billed beside the
 * message, each at its own model, and are in `iterations` only.
 */
export function measureLines(later: UsageFields, earlier: UsageFields = empty): AnswerMeasure {
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
  const tier = [readTier(later, earlier), readGeography(later, earlier)].filter(Boolean).join('+')
  const lines = [...byModel].map(([model, meters]): UsageLine => ({
    ...(model !== '' && { model }),
    meters,
    ...(tier !== '' && { tier }),
  }))
  const details = { ...whole.details }
  addDetail(details, 'costUsd', later.number('cost'))
  return { lines, details }
}

/** An attempt that declined before it wrote anything is listed before its fallback, and not billed. */
function billedAttempts(iterations: readonly UsageFields[]): readonly UsageFields[] {
  const hasFallback = iterations.some(iteration => iteration.text('type') === 'fallback_message')
  if (!hasFallback) return iterations
  return iterations.filter(
    (iteration, index) => index === iterations.length - 1 || iteration.count('output_tokens') !== 0,
  )
}

function addTo(byModel: Map<string, Meters>, model: string, meters: Meters): void {
  const sum = byModel.get(model) ?? {}
  for (const [meter, units] of Object.entries(meters) as [keyof Meters, number][]) {
    sum[meter] = (sum[meter] ?? 0) + units
  }
  byModel.set(model, sum)
}

/** Searches that failed are not counted by the provider either. */
function countSearches(usage: UsageFields): number | undefined {
  return usage.within('server_tool_use').count('web_search_requests')
}

/** The fast mode is dearer than any tier of service, so it wins. */
function readTier(later: UsageFields, earlier: UsageFields): string | undefined {
  if ((later.text('speed') ?? earlier.text('speed')) === 'fast') return 'fast'
  const tier = later.text('service_tier') ?? earlier.text('service_tier')
  return tier === 'standard' ? undefined : tier
}

/** What must not leave the United States costs more, in every tier. */
function readGeography(later: UsageFields, earlier: UsageFields): string | undefined {
  const geography = later.text('inference_geo') ?? earlier.text('inference_geo')
  return geography === 'us' ? 'us' : undefined
}
