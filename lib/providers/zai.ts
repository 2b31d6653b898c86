import { refusalsByStatus } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'

export const zai: KnownProvider = {
  dialects: { openai: 'https://api.z.ai/api/paas/v4', anthropic: 'https://api.z.ai/api/anthropic/v1' },
  streamUsage: 'as-sent',
  credentialRefusals: refusalsByStatus,
  reasoningMembers: /^thinking\.type$/,
  hasOwnVideoLengths: true,
}
