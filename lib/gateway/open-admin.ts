import type { Config } from '../config/config.ts'
import type { Front } from '../front/front.ts'
import { AdminServer, type ServedMetrics } from '../listener/admin-server.ts'
import type { OpenPayments } from '../payments/open-payments.ts'
import type { Store } from '../stores/store.ts'
import { Gauge, Registry } from 'prom-client'

/** How the last reload of the configuration went. */
interface ReloadState {
  isSuccessful: boolean
  /** When the config in force was applied, at a reload or the start; milliseconds since the epoch. */
  succeededAt: number
}

/** Opens metrics and readiness, where a listener is configured for them. */
export async function openAdmin(
  { admin: listener }: Config,
  store: Store,
  {
    front,
    payments,
    reloaded,
  }: { readonly front: Front; readonly payments: OpenPayments | undefined; readonly reloaded: ReloadState },
): Promise<{ readonly admin?: AdminServer; readonly adminUrl?: string }> {
  if (listener === undefined) return {}
  const problem = (): string | undefined => {
    if (store.failure() !== undefined) return 'the store cannot be written'
    return front.isServing() ? undefined : 'not serving'
  }
  const isUp = (): boolean => store.failure() === undefined
  const registries = [gatewayMetrics(isUp, reloaded), ...(payments === undefined ? [] : [payments.metrics])]
  const admin = new AdminServer(withOthers(front.openMetrics(), registries), problem)
  return { admin, adminUrl: await admin.listen(listener.listen) }
}

/** Concatenates the metrics of the front with those of other parts. */
function withOthers(metrics: ServedMetrics, others: readonly Pick<ServedMetrics, 'text'>[]): ServedMetrics {
  return {
    contentType: metrics.contentType,
    async text() {
      return (await Promise.all([metrics, ...others].map(one => one.text()))).join('')
    },
  }
}

/** The metrics of the process that has the store, in Prometheus' format. */
function gatewayMetrics(
  isStoreUp: () => boolean,
  reload: ReloadState,
): { readonly text: () => Promise<string> } {
  const registry = new Registry()
  const gauge = (name: string, help: string, read: () => number): void => {
    const own: Gauge = new Gauge({
      name: `gateway_${name}`,
      help,
      registers: [registry],
      collect: () => own.set(read()),
    })
  }
  gauge('store_up', '1: the store can be written. 0: nothing is admitted that has to be paid.', () =>
    isStoreUp() ? 1 : 0,
  )
  gauge(
    'config_last_reload_successful',
    '1: the configuration in force is the one that was read last. 0: that one was wrong.',
    () => (reload.isSuccessful ? 1 : 0),
  )
  gauge(
    'config_last_reload_success_timestamp_seconds',
    'When the configuration in force was taken.',
    () => reload.succeededAt / 1000,
  )
  return { text: () => registry.metrics() }
}
