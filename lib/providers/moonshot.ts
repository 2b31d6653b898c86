import { refusalsByStatus } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'

export const moonshot: KnownProvider = {
  dialects: { openai: 'https://api.moonshot.ai/v1', anthropic: 'https://api.moonshot.ai/anthropic/v1' },
  streamUsage: 'as-sent',
  credentialRefusals: refusalsByStatus,
  priceListNames: { 'genai-prices': ['moonshotai'], 'models.dev': ['moonshotai'] },
  telemetryName: 'moonshot_ai',
  readsCompletionTokens: true,
  reasoningMembers: /^thinking\.type$/,
}
