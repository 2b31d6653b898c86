import type { CostTarget } from './exchange-cost.ts'
import type { AskedReasoning } from '../dialects/asked-reasoning.ts'
import { knownProvider } from '../providers/known-providers.ts'

/** No model writes more whose own limit is not in the catalogue. */
const outputTokensUnknown = 131_072

/** What xAI's chat and Perplexity's research think is not in what they cap. */
const thinksBeyond = /^(?:grok-|sonar-(?:reasoning|deep))/

/** Its thought is billed apart, and was seen to be nine times as long as the longest answer that it writes. */
const thinksToWindow = /(?:^|\/)sonar-deep/

/**
 * How many tokens a model may come to think before anything of it can be seen, by what it is asked for. Google and
 * Anthropic bound what is asked for as a budget; efforts are bounded by no document but the cap, so these are above
 * what they have been seen to take, and what goes beyond is the account's debt. Nothing rests on them for accounts
 * without risk, whose requests count to the cap.
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
  /** When nothing is said. */
  readonly unasked: number
}

const never = 0
const medium = 16_384
const high = 32_768

/** The first that fits; models that none fits think as `medium` does. */
const families: readonly Family[] = [
  {
    pattern: /^(?:chatgpt-|gpt-3|gpt-4|gpt-5[\d.]*-chat|gpt-audio|gpt-realtime|davinci|babbage)/,
    unasked: never,
  },
  { pattern: /^(?:claude-2|claude-instant|claude-3-(?!7)|claude-3\.[05])/, unasked: never },
  // https://platform.claude.com/docs/en/build-with-claude/extended-thinking: only where it is asked for.
  { pattern: /^claude-(?:3-7|3\.7|(?:opus|sonnet|haiku)-4)/, unasked: never },
  // https://ai.google.dev/gemini-api/docs/thinking: the largest budgets there are.
  { pattern: /^gemini-2\.5-pro/, unasked: 32_768 },
  { pattern: /^gemini-2\.5-flash-image/, unasked: never },
  { pattern: /^gemini-2\.5-flash-lite/, unasked: never },
  { pattern: /^gemini-2\.5/, unasked: 24_576 },
  { pattern: /^gemini-(?:1|2\.0)/, unasked: never },
  { pattern: /^gemini-/, unasked: 32_768 },
  { pattern: /^(?:sandbox-|llama|codestral|ministral|pixtral|command|mixtral|gemma)/, unasked: never },
  { pattern: /^(?:mistral-|grok-2|grok-3$|.*non-reasoning)/, unasked: never },
  { pattern: /^gpt-5(?:\.[1-9])(?!.*(?:pro|codex))/, unasked: never },
]

const neverAtAll =
  /^(?:chatgpt-|gpt-3|gpt-4|claude-2|claude-instant|claude-3-(?!7)|gemini-(?:1|2\.0)|davinci|babbage)/

/** Whether a model may think as much as it likes, whatever cap is set. */
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
  // Of two that are both read, the larger: which of them wins no document says.
  const caps = [outputTokensCap, completionCap].filter(cap => cap !== undefined)
  if (caps.length === 0) return modelMax
  const cap = Math.max(...caps)
  const written = Math.min(cap, modelMax)
  const isCapOfText = cap > 0 && thinksBeyondCap(upstreamModelName, provider.kind)
  return isCapOfText ? Math.min(modelMax, window) + written : written
}

/**
 * Tokens that may be thought unseen, however the answer comes; Infinity where only the cap bounds them. What a request
 * says in a member that its provider does not read makes them no fewer.
 */
export function hiddenReasoning(
  upstreamModelName: string,
  providerKind: string,
  asked: readonly AskedReasoning[] = [],
): number {
  const name = upstreamModelName.slice(upstreamModelName.lastIndexOf('/') + 1).toLowerCase()
  if (neverAtAll.test(name)) return never
  const { reasoningMembers } = knownProvider(providerKind)
  const unasked = families.find(({ pattern }) => pattern.test(name))?.unasked ?? medium
  let isSaid = false
  let most = 0
  for (const { field, budgetTokens, effort, isAsked } of asked) {
    if (reasoningMembers?.test(field) === true && isAsked !== true) isSaid = true
    if (budgetTokens !== undefined) most = Math.max(most, budgetTokens)
    if (effort !== undefined) most = Math.max(most, tokensByEffort.get(effort) ?? Infinity)
    // However long it likes, unless another member says how long.
    if (isAsked === true) most = Math.max(most, asked.length > 1 ? 0 : high)
  }
  return isSaid ? most : Math.max(unasked, most)
}
