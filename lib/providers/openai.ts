import { openaiRefusals } from './credential-refusals.ts'
import type { KnownProvider, Tokenizer } from './known-provider.ts'

const guides = 'https://developers.openai.com/api/docs/guides/'

/** Chunks of a file search have at most so many tokens. */
export const chunkTokensMax = 4096

export const openaiTokenizer: Tokenizer = {
  factor: 1,
  perMessage: 4,
  perRequest: 3,
  forTools: 0,
  definitions: 0.85,
}

export const openai: KnownProvider = {
  dialects: { openai: 'https://api.openai.com/v1' },
  streamUsage: 'inject',
  responsesWebSocket: true,
  credentialRefusals: openaiRefusals,
  priceListNames: { LiteLLM: ['openai', 'text-completion-openai'] },
  // Recorded: the plain name of a family is its largest model.
  modelAliases: { 'gpt-5.6': 'gpt-5.6-sol' },
  // https://developers.openai.com/api/docs/pricing
  sellsTiers: true,
  rentsContainers: true,
  tokenizer: openaiTokenizer,
  cachesByDefault: true,
  readsCompletionTokens: true,
  reasoningMembers: /^(?:reasoning_effort|reasoning\.effort)$/,
  tools: [
    {
      name: 'web_search (OpenAI)',
      pattern: /^websearch(?:preview)?(?:\d{8})?$|^websearchoptions$/,
      tokensPerUse: 128_000,
      isSearch: true,
      isSeen: true,
      source: `${guides}tools-web-search: its context is limited to 128,000 tokens whatever the model`,
    },
    {
      name: 'file_search (OpenAI)',
      pattern: /^filesearch$/,
      tokensPerUse: 50 * chunkTokensMax,
      isSearch: true,
      isSeen: true,
      source: `${guides}tools-file-search, retrieval: at most 50 results of 4,096 tokens, and a fee a call`,
    },
  ],
  toolUsesMember: 'max_tool_calls',
  cappedTools: /^filesearch$/,
  // By the names of its models.
  tellsSearches: true,
  tellsAudioLength: true,
}
