import { isPaymentRequired, openaiRefusals } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'
import { openaiTokenizer } from './openai.ts'

export const xai: KnownProvider = {
  dialects: { openai: 'https://api.x.ai/v1' },
  streamUsage: 'inject',
  responsesWebSocket: true,
  credentialRefusals: [
    ({ status, message }) => status === 400 && message.startsWith('Incorrect API key provided'),
    ...openaiRefusals,
    isPaymentRequired,
  ],
  priceListNames: { 'genai-prices': ['x-ai'] },
  telemetryName: 'x_ai',
  // 49 of 49 recordings of `grok-3-mini`.
  billsReplacements: true,
  sellsTiers: true,
  // For tools it adds instructions of some hundred tokens.
  tokenizer: { ...openaiTokenizer, forTools: 230, definitions: 1 },
  tokensInTotalOnly: 'reasoning',
  readsCompletionTokens: true,
  reasoningMembers: /^(?:reasoning_effort|reasoning\.effort)$/,
  tools: [
    {
      name: 'code execution (xAI)',
      pattern: /^codeexecution|^codeinterpreter/,
      tokensPerUse: 'window',
      isSearch: true,
      isSeen: true,
      source: 'https://docs.x.ai/docs/models: a call of it has the price of a search',
    },
  ],
  toolRoundsMember: 'max_turns',
  // https://docs.x.ai/developers/files
  searchesAttachments: true,
  tellsSearches: true,
  billsInputImages: true,
  tellsAudioLength: true,
  batches: 'xai',
}
