import { refusalsByStatus } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'
import { openaiTokenizer } from './openai.ts'

export const deepseek: KnownProvider = {
  dialects: { openai: 'https://api.deepseek.com/v1', anthropic: 'https://api.deepseek.com/anthropic/v1' },
  streamUsage: 'inject',
  credentialRefusals: refusalsByStatus,
  // https://api-docs.deepseek.com/quick_start/pricing: both are modes of the current model.
  modelAliases: { 'deepseek-chat': 'deepseek-v', 'deepseek-reasoner': 'deepseek-v' },
  // For tools it adds instructions of some hundred tokens.
  tokenizer: { ...openaiTokenizer, forTools: 230, definitions: 1 },
  reasoningMembers: /^thinking\.type$/,
}
