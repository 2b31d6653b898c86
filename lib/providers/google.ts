import type { CredentialRefusal } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'

const reasonsOfKeys = new Set([
  'API_KEY_INVALID',
  'API_KEY_EXPIRED',
  'CONSUMER_SUSPENDED',
  'BILLING_DISABLED',
])

const credentialRefusals: readonly CredentialRefusal[] = [
  ({ reasons }) => reasons.some(reason => reasonsOfKeys.has(reason)),
  ({ status, message }) => status === 403 && message.startsWith('Your API key was reported as leaked'),
]

export const google = {
  dialects: {
    google: 'https://generativelanguage.googleapis.com/v1beta',
    openai: 'https://generativelanguage.googleapis.com/v1beta/openai',
  },
  ownDialect: 'google',
  streamUsage: 'as-sent',
  credentialRefusals,
  forbidsWhatIsGone: true,
  priceListNames: { LiteLLM: ['gemini'] },
  telemetryName: 'gcp.gemini',
  // https://ai.google.dev/gemini-api/docs/priority-inference
  sellsTiers: true,
  tokenizer: { factor: 1, perMessage: 0, perRequest: 1, forTools: 0, definitions: 1 },
  // Its OpenAI endpoint counts thinking only there.
  tokensInTotalOnly: 'output',
  readsCompletionTokens: true,
  reasoningMembers: /thinking_?(?:budget|level)$|^reasoning_effort$/i,
  // It bills a page like an image.
  pageTokens: 1120,
  readsVideosByFrame: true,
  hasOwnVideoLengths: true,
} as const satisfies KnownProvider
