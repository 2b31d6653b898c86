import type { CostTarget } from './exchange-cost.ts'

/** No model writes more whose own limit is not in the catalogue. */
const outputTokensUnknown = 131_072

/**
 * Providers that read `max_completion_tokens`, by their kind: OpenAI, Anthropic and Google document it for their own
 * endpoints, xAI, Groq, Cerebras, Moonshot and OpenRouter with it. Others take a field that they do not know for
 * none, and write as much as they like.
 */
const readsCompletionTokens: ReadonlySet<string> = new Set([
  'openai',
  'anthropic',
  'google',
  'xai',
  'groq',
  'cerebras',
  'moonshot',
  'openrouter',
  'sandbox',
])

/** What xAI's chat and Perplexity's research think is not in what they cap. */
const thinksBeyondCap = /^(?:grok-|sonar-(?:reasoning|deep))/

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
  const completionCap = readsCompletionTokens.has(provider.kind) ? completionTokensCap : undefined
  // Of two that are both read, the larger: which of them wins no document says.
  const caps = [outputTokensCap, completionCap].filter(cap => cap !== undefined)
  if (caps.length === 0) return modelMax
  const cap = Math.max(...caps)
  const name = upstreamModelName.slice(upstreamModelName.lastIndexOf('/') + 1)
  if (cap > 0 && thinksBeyondCap.test(name)) return Math.min(modelMax, window) + cap
  return Math.min(cap, modelMax)
}
