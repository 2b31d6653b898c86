import { refusalsByStatus } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'

export const fireworks: KnownProvider = {
  dialects: { openai: 'https://api.fireworks.ai/inference/v1' },
  streamUsage: 'as-sent',
  credentialRefusals: refusalsByStatus,
  priceListNames: {
    LiteLLM: ['fireworks_ai', 'fireworks_ai-embedding-models'],
    'models.dev': ['fireworks-ai'],
  },
  // https://docs.fireworks.ai/serverless/serverless-modes
  sellsTiers: true,
}
