import type { KnownProvider } from './known-provider.ts'

export const venice: KnownProvider = {
  dialects: { openai: 'https://api.venice.ai/api/v1' },
  streamUsage: 'as-sent',
  // As recorded.
  instructionTokens: 2048,
}
