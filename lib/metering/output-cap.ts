import type { CostTarget } from './exchange-cost.ts'

/** No model writes more whose own limit is not in the catalogue. */
const outputTokensUnknown = 131_072

/**
 * Providers that read `max_completion_tokens`, by their kind: OpenAI, Anthropic and Google document it for their own
 * endpoints, xAI, Groq, Cerebras, Moonshot and OpenRouter with it. Others take a field that they do not know for
 * none, and write as much as they like.
 */
export const readsCompletionTokens: ReadonlySet<string> = new Set([
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
const thinksBeyond = /^(?:grok-|sonar-(?:reasoning|deep))/
/** Nor is it at Alibaba's own endpoint, to which OpenRouter may send as well. */
const qwenThinksBeyond = /^(?:qw[eq]|qvq)/
const qwenAt: ReadonlySet<string> = new Set(['qwen', 'openrouter'])

/** Its thought is billed apart, and was seen to be nine times as long as the longest answer that it writes. */
const thinksToWindow = /(?:^|\/)sonar-deep/

/** Whether a model may think as much as it likes, whatever cap is set. */
export function thinksBeyondCap(upstreamModelName: string, providerKind: string): boolean {
  const name = upstreamModelName.slice(upstreamModelName.lastIndexOf('/') + 1)
  return thinksBeyond.test(name) || (qwenAt.has(providerKind) && qwenThinksBeyond.test(name))
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
  const completionCap = readsCompletionTokens.has(provider.kind) ? completionTokensCap : undefined
  if (thinksToWindow.test(upstreamModelName)) return Math.min(window, outputTokensUnknown) + modelMax
  // Of two that are both read, the larger: which of them wins no document says.
  const caps = [outputTokensCap, completionCap].filter(cap => cap !== undefined)
  if (caps.length === 0) return modelMax
  const cap = Math.max(...caps)
  if (cap > 0 && thinksBeyondCap(upstreamModelName, provider.kind)) return Math.min(modelMax, window) + cap
  return Math.min(cap, modelMax)
}
