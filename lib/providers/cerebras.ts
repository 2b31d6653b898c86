import { refusalsByStatus } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'

export const cerebras: KnownProvider = {
  dialects: { openai: 'https://api.cerebras.ai/v1' },
  streamUsage: 'inject',
  credentialRefusals: refusalsByStatus,
  readsCompletionTokens: true,
  reasoningMembers: /^reasoning_effort$/,
}
