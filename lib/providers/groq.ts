import { refusalsByStatus } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'

export const groq: KnownProvider = {
  dialects: { openai: 'https://api.groq.com/openai/v1' },
  streamUsage: 'as-sent',
  credentialRefusals: refusalsByStatus,
  readsCompletionTokens: true,
  reasoningMembers: /^(?:reasoning_effort|reasoning\.effort)$/,
  // Its messages list the tools that ran.
  tellsSearches: true,
  // https://console.groq.com/docs/speech-to-text
  audioSecondsMin: 10,
}
