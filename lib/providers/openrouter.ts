import type { CredentialRefusal } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'
import { qwen } from './qwen.ts'

const credentialRefusals: readonly CredentialRefusal[] = [
  ({ status, message }) =>
    status === 401 &&
    /^(?:No auth credentials found|Missing Authentication header|User not found|Invalid API key)/i.test(
      message,
    ),
  // It also responds with 402 to a request whose own max_tokens cost more than the remaining credit.
  ({ status, message }) => status === 402 && !/can only afford|fewer max_tokens/.test(message),
]

export const openrouter = {
  dialects: { openai: 'https://openrouter.ai/api/v1', anthropic: 'https://openrouter.ai/api/v1' },
  streamUsage: 'as-sent',
  isBearerAlways: true,
  credentialRefusals,
  sellsTiers: true,
  fees: {
    // https://openrouter.ai/docs/features/multimodal/pdfs: $2 for 1,000 pages that are read out, asked for or not.
    pageUsd: 0.002,
    // https://openrouter.ai/docs/guides/overview/multimodal/image-generation: 4K by the most expensive of its models.
    imageUsd: 0.4,
    // https://openrouter.ai/docs/guides/features/plugins/web-search: $4 for 1,000 results, of which a search has 25 at most.
    searchUsd: 0.1,
  },
  readsCompletionTokens: true,
  // It may route to Alibaba.
  thinksBeyondCap: qwen.thinksBeyondCap,
  reasoningMembers: /^(?:reasoning_effort|reasoning\.\w+|thinking\.\w+)$/,
  // https://openrouter.ai/docs/guides/features/server-tools: `max_tool_calls` is 30 unless said, and at most.
  toolRoundsMax: 30,
  tellsSearches: true,
  tellsAudioLength: true,
  hasOwnVideoLengths: true,
  statesVideoCost: true,
} as const satisfies KnownProvider
