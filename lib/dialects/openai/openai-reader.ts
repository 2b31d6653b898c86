import type { UsageLine } from '../../money/usage.ts'
import { ResponseReader } from '../response-reader.ts'
import { isStandardTier, tierUnnamed } from '../asked-tier.ts'
import {
  addDetail,
  addUsed,
  lineOf,
  Split,
  type ResponseMeasure,
  type Measure,
  type UsageFields,
} from '../measure.ts'
import { knownProvider } from '../../providers/known-providers.ts'

const doneMark = '[DONE]'
/** The unit in which xAI states the cost of a response. */
export const ticksPerUsd = 1e10

/** Reads a response whose usage is OpenAI's token object. */
export class OpenaiReader extends ResponseReader {
  protected override isLastEvent(_event: string, data: Buffer): boolean {
    return data.length === doneMark.length && data.toString('latin1') === doneMark
  }

  protected override get servedTier(): string | undefined {
    if (this.tier === undefined) return tierUnnamed(this.context)
    return isStandardTier(this.tier) ? undefined : this.tier
  }

  protected override measure(): ResponseMeasure {
    const usage = this.usage()
    if (usage === undefined) return { lines: [], details: {} }
    const measure = measureTokens(usage, this.context.providerKind)
    if (measure === undefined) return { lines: [], details: statedCost(usage) }
    // xAI's searches in attached files cost twice as much as its other tools.
    const attached = usage.within('server_side_tool_usage_details').count('attachment_search_calls') ?? 0
    const line = this.line(measure.meters, measure.variant)
    const lines = attached === 0 ? [line] : [line, this.line({ searches: attached }, 'attachment')]
    return { lines, details: measure.details }
  }

  protected line(meters: UsageLine['meters'], variant?: string): UsageLine {
    return lineOf(meters, { tier: this.servedTier, variant })
  }
}

const inputDetails = ['prompt_tokens_details', 'input_tokens_details', 'input_token_details']
const outputDetails = ['completion_tokens_details', 'output_tokens_details', 'output_token_details']

interface Totals {
  readonly input: number | undefined
  readonly output: number | undefined
}

/**
 * Tokens as OpenAI and the providers that copy its format count them: the prompt includes cache reads, cache writes,
 * audio and images; the completion includes reasoning. Undefined if the object counts no tokens.
 */
export function measureTokens(usage: UsageFields, providerKind: string): Measure | undefined {
  const { input, output } = readTotals(usage, providerKind)
  if (input === undefined && output === undefined) return undefined
  // Perplexity's fee for a request depends on how much context it searched, and exceeds the tokens' price.
  const contextSize = usage.text('search_context_size')
  const measure: Measure = {
    meters: contextSize === undefined ? {} : { requests: 1 },
    details: statedCost(usage),
    variant: contextSize,
  }
  if (input !== undefined) splitInput(usage, input, measure)
  // Mistral bills audio input by the second, and counts its tokens as well.
  addUsed(measure.meters, 'audioSeconds', usage.quantity('prompt_audio_seconds'))
  if (output !== undefined) splitOutput(usage, output, measure)
  addUsed(measure.meters, 'searches', countSearches(usage))
  return measure
}

function splitInput(usage: UsageFields, total: number, { meters, details }: Measure): void {
  const parts = usage.within(...inputDetails)
  const split = new Split(total)
  // DeepSeek, Mistral, and Together with Moonshot have names of their own for it.
  const cached =
    parts.count('cached_tokens') ??
    usage.count('prompt_cache_hit_tokens', 'num_cached_tokens', 'cached_tokens')
  const cachedAudio = parts.within('cached_tokens_details').count('audio_tokens') ?? 0
  addUsed(meters, 'cachedAudioInput', split.take(Math.min(cachedAudio, cached ?? 0)))
  addUsed(meters, 'cachedInput', split.take(Math.max(0, (cached ?? 0) - cachedAudio)))
  // Qwen uses Anthropic's name for it. https://www.alibabacloud.com/help/en/model-studio/context-cache
  const written = parts.count('cache_write_tokens', 'cache_creation_input_tokens')
  addUsed(meters, 'cacheWrite5m', split.take(written))
  if (split.isOverdrawn) usage.flag('usage_inconsistent')
  // Audio and images may be cached input, which is counted already.
  const audio = parts.count('audio_tokens') ?? 0
  const image = parts.count('image_tokens') ?? 0
  if (audio + image > total) usage.flag('usage_inconsistent')
  addUsed(meters, 'audioInput', split.take(Math.max(0, audio - cachedAudio)))
  addUsed(meters, 'imageInput', split.take(image))
  meters.input = split.rest
  addDetail(details, 'videoInput', parts.count('video_tokens'))
}

function splitOutput(usage: UsageFields, total: number, { meters, details }: Measure): void {
  const parts = usage.within(...outputDetails)
  const split = new Split(total)
  addUsed(meters, 'audioOutput', split.take(parts.count('audio_tokens')))
  addUsed(meters, 'imageOutput', split.take(parts.count('image_tokens')))
  if (split.isOverdrawn) usage.flag('usage_inconsistent')
  meters.output = split.rest
  addDetail(details, 'reasoning', parts.count('reasoning_tokens') ?? usage.count('reasoning_tokens'))
  addDetail(details, 'acceptedPrediction', parts.count('accepted_prediction_tokens'))
  addDetail(details, 'rejectedPrediction', parts.count('rejected_prediction_tokens'))
}

/** The provider's totals, including the tokens that some providers count in `total_tokens` only. */
function readTotals(usage: UsageFields, providerKind: string): Totals {
  const input = usage.count('prompt_tokens', 'input_tokens')
  const output = usage.count('completion_tokens', 'output_tokens')
  const total = usage.count('total_tokens')
  if (total === undefined) return { input, output }
  // Embeddings and reranking have no output; some report the total alone.
  if (input === undefined && output === undefined) return { input: total, output: undefined }
  const hidden = total - (input ?? 0) - (output ?? 0)
  if (hidden === 0) return { input, output }
  switch (hidden > 0 ? knownProvider(providerKind).tokensInTotalOnly : undefined) {
    case 'output':
      return { input, output: (output ?? 0) + hidden }
    case 'reasoning':
      if (usage.within(...outputDetails).count('reasoning_tokens') === hidden)
        return { input, output: (output ?? 0) + hidden }
      break
    case 'audioInput':
      if (usage.within(...inputDetails).count('audio_tokens') === hidden)
        return { input: (input ?? 0) + hidden, output }
      break
    case undefined:
  }
  usage.flag('usage_inconsistent')
  return { input, output }
}

/** The calls for which xAI bills a fee; each costs as much as a search, or less. */
const xaiCalls = [
  'web_search_calls',
  'x_search_calls',
  'code_interpreter_calls',
  'file_search_calls',
  'document_search_calls',
] as const

/** The searches that the provider bills, from the counter by which it bills them. */
function countSearches(usage: UsageFields): number | undefined {
  const xaiTools = usage.within('server_side_tool_usage_details')
  if (xaiTools.has(...xaiCalls, 'attachment_search_calls'))
    return xaiCalls.reduce((calls, name) => calls + (xaiTools.count(name) ?? 0), 0)
  return (
    usage.within('server_tool_use_details', 'server_tool_use').count('web_search_requests') ??
    usage.count('num_search_queries', 'num_sources_used') ??
    callsOf(usage.within('tool_calls_details'), perplexityTools, 'invocation') ??
    qwenSearches(usage)
  )
}

/**
 * Tools of Perplexity's agents that cost as much as a search, or less:
 * https://docs.perplexity.ai/getting-started/pricing
 */
const perplexityTools = [
  'web_search',
  'search_web',
  'image_search',
  'people_search',
  'finance_search',
] as const

/** The calls of all these tools, each counted in a member; undefined if none is reported. */
function callsOf(tools: UsageFields, names: readonly string[], member: string): number | undefined {
  if (!tools.has(...names)) return undefined
  return names.reduce((calls, name) => calls + (tools.within(name).count(member) ?? 0), 0)
}

/** Qwen's tools with a fee. Reading pages and running code are free. */
const qwenTools = ['web_search', 'web_search_image', 'image_search', 'file_search'] as const

/**
 * Responses have a counter for each tool, repeated in their details; chat has one counter for all searches.
 * https://www.alibabacloud.com/help/en/model-studio/web-search
 */
function qwenSearches(usage: UsageFields): number | undefined {
  const [detail] = usage.items('x_details')
  for (const tools of [usage.within('x_tools'), detail?.within('plugins')]) {
    const calls = tools && callsOf(tools, qwenTools, 'count')
    if (calls !== undefined) return calls
  }
  return usage.within('plugins').within('search').count('count')
}

/** Whether a usage has a counter of searches, even if it is zero. */
export function countsSearches(usage: UsageFields): boolean {
  return countSearches(usage) !== undefined || usage.has('server_side_tool_usage_details')
}

/**
 * The cost that a provider states for its response: OpenRouter `cost: 0.00036`, Perplexity `cost: {total_cost}`, and
 * xAI in ticks. https://docs.x.ai/developers/cost-tracking
 */
function statedCost(usage: UsageFields): Record<string, number> {
  const details: Record<string, number> = {}
  const ticks = usage.number('cost_in_usd_ticks')
  const cost = usage.within('cost').number('total_cost') ?? usage.number('cost')
  addDetail(details, 'costUsd', cost ?? (ticks === undefined ? undefined : ticks / ticksPerUsd))
  addDetail(details, 'costUsdTicks', ticks)
  return details
}
