import { refusalsByStatus } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'

export const cohere: KnownProvider = {
  dialects: { openai: 'https://api.cohere.ai/compatibility/v1' },
  streamUsage: 'as-sent',
  // Its own format, for a provider `like: cohere` at https://api.cohere.com/v2.
  operations: ['/chat', '/embed'],
  credentialRefusals: refusalsByStatus,
  priceListNames: { LiteLLM: ['cohere', 'cohere_chat'] },
}
