import type { Config } from '../config/config.ts'
import type { RiskRule } from '../ledger/risk.ts'
import type { PipelineBus } from '../pipeline/events.ts'
import type { Clock } from '../platform/clock.ts'
import type { Log } from '../platform/log.ts'
import { openStore } from '../stores/open-store.ts'
import type { Store } from '../stores/store.ts'

/** How often expired holds are searched for. */
const expireMs = 60_000

/** Opens the store, and releases expired holds every minute until it is closed. */
export async function openWatchedStore(
  config: Config,
  options: {
    readonly log: Log
    readonly clock: Clock
    readonly bus: PipelineBus
    readonly riskRule: () => RiskRule
    readonly onLost?: (error: Error) => void
  },
): Promise<Store> {
  const { log, bus } = options
  const onAvailable = (error?: Error): void => {
    if (error === undefined) bus.emit('alarm', 'store_available', {})
    else bus.emit('alarm', 'store_unavailable', { error })
  }
  const store = await openStore(config, { ...options, onAvailable })
  for (const hold of store.recovery.releasedHolds)
    log.warn({ hold }, 'released a hold that a crash left open')
  const timer = setInterval(() => {
    store.expireHolds().then(
      count => {
        if (count > 0) log.warn({ count }, 'holds were left open until they expired')
      },
      (error: unknown) => log.error({ error }, 'holds could not be expired'),
    )
  }, expireMs)
  timer.unref()
  return {
    ...store,
    close() {
      clearInterval(timer)
      return store.close()
    },
  }
}
