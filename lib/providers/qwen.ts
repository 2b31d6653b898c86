import { refusalsByStatus } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'

export const qwen = {
  dialects: { openai: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1' },
  streamUsage: 'inject',
  credentialRefusals: refusalsByStatus,
  priceListNames: { LiteLLM: ['dashscope'], 'models.dev': ['alibaba'] },
  thinksBeyondCap: /^(?:qw[eq]|qvq)/,
  reasoningMembers: /^(?:enable_thinking|thinking_budget)$/,
  // https://help.aliyun.com/zh/model-studio/long-context-qwen-long
  readsFilesInText: true,
} as const satisfies KnownProvider
