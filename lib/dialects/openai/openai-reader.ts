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
/** In which xAI states what a response has cost. */
export const ticksPerUsd = 1e10

/** Reads an answer whose usage is OpenAI's token object. */
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
    // What xAI reads of attached files by costs twice as much as its other tools.
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
 * Tokens as OpenAI counts them, and everybody who copies its format: the prompt includes what came from
 * the cache, was written to it, or was audio or image; the completion includes reasoning. Undefined when
 * the object counts no tokens.
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
  // Mistral bills what it hears by the second, and counts its tokens as well.
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
  // Qwen has Anthropic's name for it. https://www.alibabacloud.com/help/en/model-studio/context-cache
  const written = parts.count('cache_write_tokens', 'cache_creation_input_tokens')
  addUsed(meters, 'cacheWrite5m', split.take(written))
  if (split.isOverdrawn) usage.flag('usage_inconsistent')
  // Audio and images may have come from the cache, where they are counted already.
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

/** The provider's totals, with the tokens that some of them count in `total_tokens` only. */
function readTotals(usage: UsageFields, providerKind: string): Totals {
  const input = usage.count('prompt_tokens', 'input_tokens')
  const output = usage.count('completion_tokens', 'output_tokens')
  const total = usage.count('total_tokens')
  if (total === undefined) return { input, output }
  // Embeddings and reranking read and write nothing; some name the total alone.
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

/** What xAI bills a fee for, each call of which costs what a search does, or less. */
const xaiCalls = [
  'web_search_calls',
  'x_search_calls',
  'code_interpreter_calls',
  'file_search_calls',
  'document_search_calls',
] as const

/** Searches that the provider bills, by the counter it bills from. */
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

/** Tools of Perplexity's agents that cost what a search does, or less: https://docs.perplexity.ai/getting-started/pricing */
const perplexityTools = [
  'web_search',
  'search_web',
  'image_search',
  'people_search',
  'finance_search',
] as const

/** The calls of all these tools, as each of them tells in a member; undefined where none is told of. */
function callsOf(tools: UsageFields, names: readonly string[], member: string): number | undefined {
  if (!tools.has(...names)) return undefined
  return names.reduce((calls, name) => calls + (tools.within(name).count(member) ?? 0), 0)
}

/** Tools of Qwen's that have a fee. Pages that it reads and code that it runs have none. */
const qwenTools = ['web_search', 'web_search_image', 'image_search', 'file_search'] as const

/**
 * Responses have a counter for each tool, and the same once more among their details; chat has one for all searches.
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

/** Whether a usage has a counter of searches, be it of none. */
export function countsSearches(usage: UsageFields): boolean {
  return countSearches(usage) !== undefined || usage.has('server_side_tool_usage_details')
}

/**
 * What a provider says that its response has cost: OpenRouter `cost: 0.00036`, Perplexity `cost: {total_cost}`, and xAI in
 * ticks. https://docs.x.ai/developers/cost-tracking
 */
function statedCost(usage: UsageFields): Record<string, number> {
  const details: Record<string, number> = {}
  const ticks = usage.number('cost_in_usd_ticks')
  const cost = usage.within('cost').number('total_cost') ?? usage.number('cost')
  addDetail(details, 'costUsd', cost ?? (ticks === undefined ? undefined : ticks / ticksPerUsd))
  addDetail(details, 'costUsdTicks', ticks)
  return details
}
