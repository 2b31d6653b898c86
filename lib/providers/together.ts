import { refusalsByStatus } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'

export const together: KnownProvider = {
  dialects: { openai: 'https://api.together.ai/v1' },
  streamUsage: 'as-sent',
  credentialRefusals: refusalsByStatus,
  priceListNames: { LiteLLM: ['together_ai'], 'models.dev': ['togetherai'] },
  hasOwnVideoLengths: true,
}
