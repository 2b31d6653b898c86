import type { CredentialRefusal } from './credential-refusals.ts'
import type { KnownProvider } from './known-provider.ts'

const credentialRefusals: readonly CredentialRefusal[] = [
  // Other 401s come from headers that a client can send, such as those of OAuth.
  ({ status, type, message }) =>
    status === 401 &&
    type === 'authentication_error' &&
    /^(?:invalid (?:x-api-key|bearer token)|API key is invalid\.)$/i.test(message),
  ({ type }) => type === 'billing_error',
  ({ status, message }) => status === 400 && message.startsWith('Your credit balance is too low'),
  ({ status, message }) =>
    (status === 400 || status === 403) && message.startsWith('This organization has been disabled'),
]

export const anthropic = {
  dialects: { anthropic: 'https://api.anthropic.com/v1', openai: 'https://api.anthropic.com/v1' },
  ownDialect: 'anthropic',
  streamUsage: 'as-sent',
  credentialRefusals,
  // https://platform.claude.com/docs/en/build-with-claude/fast-mode
  sellsTiers: true,
  tierMembers: new Map([['fast', 'speed']]),
  rentsContainers: true,
  tokenizer: { factor: 1.1, perMessage: 4, perRequest: 3, forTools: 330, definitions: 1 },
  readsCompletionTokens: true,
  reasoningMembers: /^(?:thinking\.\w+|output_config\.effort)$/,
  readsToolUses: true,
  cappedTools: /^webfetch/,
  capsAdvisors: true,
} as const satisfies KnownProvider
