import { refusalsByStatus } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'
import { openaiTokenizer } from './openai.ts'

export const perplexity: KnownProvider = {
  dialects: { openai: 'https://api.perplexity.ai' },
  streamUsage: 'as-sent',
  credentialRefusals: refusalsByStatus,
  // It bills only the text.
  tokenizer: { ...openaiTokenizer, perMessage: 0, perRequest: 0 },
  tellsSearches: true,
}
