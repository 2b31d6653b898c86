import type { Credential, ProviderConfig } from './config.ts'

/** What stands for the key of a server that needs none: `credentials: []`. It is sent as no header at all. */
export function keylessCredential(provider: Pick<ProviderConfig, 'name'>): Credential {
  return { name: `${provider.name}#0`, value: '' }
}
