import type { CostTarget } from './exchange-cost.ts'
import type { AskedReasoning } from '../dialects/asked-reasoning.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** No model without a limit in the catalogue writes more. */
const outputTokensUnknown = 131_072

/** The caps of xAI's chat and of Perplexity's research do not include reasoning. */
const thinksBeyond = /^(?:grok-|sonar-(?:reasoning|deep))/

/** Its reasoning is billed separately, and has been seen to be nine times as long as its longest response. */
const thinksToWindow = /(?:^|\/)sonar-deep/

/**
 * The most tokens that a model may think before any output is visible, by the requested effort. Google and Anthropic
 * enforce a requested budget; no document limits an effort except by the cap, so these numbers are above those
 * observed, and any excess becomes the account's debt. Accounts without risk do not depend on them: their requests
 * count to the cap.
 */
const tokensByEffort: ReadonlyMap<string, number> = new Map([
  ['none', 0],
  // https://ai.google.dev/gemini-api/docs/openai: 1,024, 8,192 and 24,576 stand for low, medium and high.
  ['minimal', 2048],
  ['low', 8192],
  ['medium', 16_384],
  ['high', 32_768],
])

interface Family {
  readonly pattern: RegExp
  /** Without a request for reasoning. */
  readonly whenUnset: number
}

const never = 0
const medium = 16_384
const high = 32_768

/** The first match applies; a model without a match thinks as with `medium`. */
const families: readonly Family[] = [
  {
    pattern: /^(?:chatgpt-|gpt-3|gpt-4|gpt-5[\d.]*-chat|gpt-audio|gpt-realtime|davinci|babbage)/,
    whenUnset: never,
  },
  { pattern: /^(?:claude-2|claude-instant|claude-3-(?!7)|claude-3\.[05])/, whenUnset: never },
  // https://platform.claude.com/docs/en/build-with-claude/extended-thinking: only on request.
  { pattern: /^claude-(?:3-7|3\.7|(?:opus|sonnet|haiku)-4)/, whenUnset: never },
  // https://ai.google.dev/gemini-api/docs/thinking: the largest possible budgets.
  { pattern: /^gemini-2\.5-pro/, whenUnset: 32_768 },
  { pattern: /^gemini-2\.5-flash-image/, whenUnset: never },
  { pattern: /^gemini-2\.5-flash-lite/, whenUnset: never },
  { pattern: /^gemini-2\.5/, whenUnset: 24_576 },
  { pattern: /^gemini-(?:1|2\.0)/, whenUnset: never },
  { pattern: /^gemini-/, whenUnset: 32_768 },
  { pattern: /^(?:sandbox-|llama|codestral|ministral|pixtral|command|mixtral|gemma)/, whenUnset: never },
  { pattern: /^(?:mistral-|grok-2|grok-3$|.*non-reasoning)/, whenUnset: never },
  { pattern: /^gpt-5(?:\.[1-9])(?!.*(?:pro|codex))/, whenUnset: never },
]

const neverAtAll =
  /^(?:chatgpt-|gpt-3|gpt-4|claude-2|claude-instant|claude-3-(?!7)|gemini-(?:1|2\.0)|davinci|babbage)/

/** Whether a model may think without limit, whatever the cap. */
export function thinksBeyondCap(upstreamModelName: string, providerKind: string): boolean {
  const name = upstreamModelName.slice(upstreamModelName.lastIndexOf('/') + 1)
  return thinksBeyond.test(name) || knownProvider(providerKind).thinksBeyondCap?.test(name) === true
}

interface Capped {
  readonly outputTokensCap?: number | undefined
  readonly completionTokensCap?: number | undefined
}

/** The most output tokens of one response: the request's cap in a field that this provider reads, else the model's. */
export function outputCap(
  { model, provider, upstreamModelName }: Pick<CostTarget, 'model' | 'provider' | 'upstreamModelName'>,
  { outputTokensCap, completionTokensCap }: Capped,
): number {
  const window = model?.contextTokensMax ?? Infinity
  const modelMax = model?.outputTokensMax ?? Math.min(window, outputTokensUnknown)
  const completionCap =
    knownProvider(provider.kind).readsCompletionTokens === true ? completionTokensCap : undefined
  if (thinksToWindow.test(upstreamModelName)) return Math.min(window, outputTokensUnknown) + modelMax
  // If both caps are read the larger counts, since no document says which one takes precedence.
  const caps = [outputTokensCap, completionCap].filter(cap => cap !== undefined)
  if (caps.length === 0) return modelMax
  const cap = Math.max(...caps)
  const written = Math.min(cap, modelMax)
  const isCapOfText = cap > 0 && thinksBeyondCap(upstreamModelName, provider.kind)
  return isCapOfText ? Math.min(modelMax, window) + written : written
}

/**
 * Reasoning tokens that may be spent without being visible; Infinity if only the cap limits them. A member that the
 * provider does not read does not lower the number.
 */
export function hiddenReasoning(
  upstreamModelName: string,
  providerKind: string,
  asked: readonly AskedReasoning[] = [],
): number {
  const name = upstreamModelName.slice(upstreamModelName.lastIndexOf('/') + 1).toLowerCase()
  if (neverAtAll.test(name)) return never
  const { reasoningMembers } = knownProvider(providerKind)
  const whenUnset = families.find(({ pattern }) => pattern.test(name))?.whenUnset ?? medium
  let isSaid = false
  let most = 0
  for (const { field, budgetTokens, effort, isAsked } of asked) {
    if (reasoningMembers?.test(field) === true && isAsked !== true) isSaid = true
    if (budgetTokens !== undefined) most = Math.max(most, budgetTokens)
    if (effort !== undefined) most = Math.max(most, tokensByEffort.get(effort) ?? Infinity)
    // Without limit, unless another member sets one.
    if (isAsked === true) most = Math.max(most, asked.length > 1 ? 0 : high)
  }
  return isSaid ? most : Math.max(whenUnset, most)
}
