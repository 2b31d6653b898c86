import type { Config } from '../config/config.ts'
import type { Front } from '../front/front.ts'
import { AdminServer } from '../listener/admin-server.ts'
import type { ServedMetrics } from '../listener/admin-server.ts'
import { gatewayMetrics } from '../observability/gateway-metrics.ts'
import type { ReloadState } from '../observability/gateway-metrics.ts'
import type { OpenPayments } from '../payments/open-payments.ts'
import type { Store } from '../stores/store.ts'

/** Metrics and readiness, where a listener is configured for them. */
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

/** What requests and payments say of themselves, one after the other. */
function withOthers(metrics: ServedMetrics, others: readonly Pick<ServedMetrics, 'text'>[]): ServedMetrics {
  return {
    contentType: metrics.contentType,
    async text() {
      return (await Promise.all([metrics, ...others].map(one => one.text()))).join('')
    },
  }
}
