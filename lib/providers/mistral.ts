import { refusalsByStatus } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'

export const mistral: KnownProvider = {
  dialects: { openai: 'https://api.mistral.ai/v1' },
  streamUsage: 'as-sent',
  operations: ['/fim/completions'],
  credentialRefusals: refusalsByStatus,
  telemetryName: 'mistral_ai',
  tokensInTotalOnly: 'audioInput',
  tellsAudioLength: true,
  batches: 'mistral',
}
