import { tierUnnamed } from '../asked-tier.ts'
import type { UsageReaderContext } from '../dialect.ts'
import { addDetail, addUsed, Split, type Measure, type UsageFields } from '../measure.ts'

/** The names of one family of counts: Google's two APIs count the same quantities under different names. */
interface CountNames {
  readonly prompt: string
  readonly cached: string
  readonly toolUse: string
  readonly output: string
  readonly thoughts: string
  readonly total: string
  readonly promptByModality: readonly string[]
  readonly cachedByModality: string
  readonly toolUseByModality: string
  readonly outputByModality: readonly string[]
  readonly tokens: string
}

/** `usageMetadata` of generateContent; `responseTokenCount` is the Live API's name. */
export const generateNames: CountNames = {
  prompt: 'promptTokenCount',
  cached: 'cachedContentTokenCount',
  toolUse: 'toolUsePromptTokenCount',
  output: 'candidatesTokenCount',
  thoughts: 'thoughtsTokenCount',
  total: 'totalTokenCount',
  promptByModality: ['promptTokensDetails', 'promptTokenDetails'],
  cachedByModality: 'cacheTokensDetails',
  toolUseByModality: 'toolUsePromptTokensDetails',
  outputByModality: ['candidatesTokensDetails', 'responseTokensDetails'],
  tokens: 'tokenCount',
}

/** `usage` of an interaction. */
export const interactionNames: CountNames = {
  prompt: 'total_input_tokens',
  cached: 'total_cached_tokens',
  toolUse: 'total_tool_use_tokens',
  output: 'total_output_tokens',
  thoughts: 'total_thought_tokens',
  total: 'total_tokens',
  promptByModality: ['input_tokens_by_modality'],
  cachedByModality: 'cached_tokens_by_modality',
  toolUseByModality: 'tool_use_tokens_by_modality',
  outputByModality: ['output_tokens_by_modality'],
  tokens: 'tokens',
}

/**
 * Tokens as Google counts them: the prompt count includes cached tokens; tool use and thoughts are counted separately.
 * Zero counts are left out of the object. Undefined when nothing is counted at all.
 */
export function measureMetadata(usage: UsageFields, names: CountNames): Measure | undefined {
  const prompt = usage.count(names.prompt)
  const output = usage.count(names.output)
  const toolUse = usage.count(names.toolUse)
  const thoughts = usage.count(names.thoughts)
  const counts = [prompt, output, toolUse, thoughts].filter(count => count !== undefined)
  if (counts.length === 0) return undefined
  const total = usage.count(names.total)
  if (total !== undefined && total !== counts.reduce((sum, count) => sum + count, 0))
    usage.flag('usage_inconsistent')
  const measure: Measure = { meters: {}, details: {} }
  // Every prompt has tokens, so a missing count means that it was not counted.
  if (prompt !== undefined || toolUse !== undefined)
    splitInput(usage, names, prompt ?? 0, toolUse ?? 0, measure)
  if (output !== undefined || thoughts !== undefined)
    splitOutput(usage, names, output ?? 0, thoughts ?? 0, measure)
  return measure
}

function splitInput(
  usage: UsageFields,
  names: CountNames,
  prompt: number,
  toolUse: number,
  { meters, details }: Measure,
): void {
  const inPrompt = (modality: string): number => tokensOf(usage, names, names.promptByModality, modality)
  const inCache = (modality: string): number => tokensOf(usage, names, [names.cachedByModality], modality)
  const cached = usage.count(names.cached) ?? 0
  const split = new Split(prompt)
  const cachedAudio = split.take(Math.min(inCache('audio'), cached))
  addUsed(meters, 'cachedAudioInput', cachedAudio)
  addUsed(meters, 'cachedInput', split.take(cached - cachedAudio))
  addUsed(meters, 'audioInput', split.take(Math.max(0, inPrompt('audio') - cachedAudio)))
  addUsed(meters, 'imageInput', split.take(Math.max(0, inPrompt('image') - inCache('image'))))
  if (split.isOverdrawn) usage.flag('usage_inconsistent')
  const toolSplit = new Split(toolUse)
  addUsed(meters, 'audioInput', toolSplit.take(tokensOf(usage, names, [names.toolUseByModality], 'audio')))
  addUsed(meters, 'imageInput', toolSplit.take(tokensOf(usage, names, [names.toolUseByModality], 'image')))
  meters.input = split.rest + toolSplit.rest
  addDetail(details, 'toolUse', toolUse)
  addDetail(details, 'videoInput', inPrompt('video'))
  addDetail(details, 'documentInput', inPrompt('document'))
}

function splitOutput(
  usage: UsageFields,
  names: CountNames,
  output: number,
  thoughts: number,
  { meters, details }: Measure,
): void {
  const split = new Split(output)
  addUsed(meters, 'audioOutput', split.take(tokensOf(usage, names, names.outputByModality, 'audio')))
  addUsed(meters, 'imageOutput', split.take(tokensOf(usage, names, names.outputByModality, 'image')))
  // The tokens of Omni's videos also cost more than text. https://ai.google.dev/gemini-api/docs/pricing
  addUsed(meters, 'imageOutput', split.take(tokensOf(usage, names, names.outputByModality, 'video')))
  if (split.isOverdrawn) usage.flag('usage_inconsistent')
  meters.output = split.rest + thoughts
  addDetail(details, 'reasoning', thoughts)
}

/**
 * Modalities are upper-case in one API and lower-case in the other, and numbers if a client requests
 * `enum-encoding=int`.
 */
function modalityOf(item: UsageFields): string | undefined {
  return item.text('modality')?.toLowerCase() ?? modalities[item.count('modality') ?? 0]
}

/** In the order of Google's enumeration, whose first item means unspecified. */
const modalities = [undefined, 'text', 'image', 'video', 'audio', 'document']

function tokensOf(usage: UsageFields, names: CountNames, lists: readonly string[], modality: string): number {
  let tokens = 0
  for (const item of usage.items(...lists)) {
    if (modalityOf(item) === modality) tokens += item.count(names.tokens) ?? 0
  }
  return tokens
}

/**
 * The tier served: `serviceTier`, or Vertex's `trafficType` such as ON_DEMAND_FLEX.
 * @param named the tier that the response names outside its usage
 */
export function readTier(
  usage: UsageFields,
  named: string | undefined,
  context: UsageReaderContext,
): string | undefined {
  const told = usage.text('serviceTier') ?? usage.text('service_tier') ?? usage.text('trafficType') ?? named
  if (told === undefined) return tierUnnamed(context)
  const served = told.toLowerCase()
  for (const tier of ['flex', 'priority', 'batch']) if (served.includes(tier)) return tier
  return undefined
}
