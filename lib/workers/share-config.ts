import type { Config, Limits, ProviderConfig } from '../config/config.ts'
import { memoryLimit } from '../overload/memory-limit.ts'

/**
 * What one of several workers may take of what the config grants the gateway: an equal share of all that is
 * counted by the process. Providers' connections are at least as many as workers; the config's check says so.
 */
export function shareConfig(config: Config): Config {
  const { workers, limits, providers } = config
  const share = (total: number): number => Math.max(1, Math.floor(total / workers))
  const shared: Limits = {
    ...limits,
    bodyBytesTotalMax: Math.max(limits.bodyBytesMax, share(limits.bodyBytesTotalMax)),
    connectionsMax: share(limits.connectionsMax),
    exchangesMax: share(limits.exchangesMax ?? limits.connectionsMax),
    memoryBytesMax: share(memoryLimit(limits.memoryBytesMax)),
    writesWaitingMax: share(limits.writesWaitingMax),
  }
  const shareProvider = (provider: ProviderConfig): ProviderConfig => ({
    ...provider,
    limits: {
      ...provider.limits,
      connectionsMax: share(provider.limits.connectionsMax),
      waitingMax: share(provider.limits.waitingMax),
    },
  })
  return {
    ...config,
    limits: shared,
    providers: new Map([...providers].map(([name, provider]) => [name, shareProvider(provider)])),
  }
}
