import { Gauge, Registry } from 'prom-client'

/** How the last reload of the configuration went. */
export interface ReloadState {
  isSuccessful: boolean
  /** Of the last one that was taken, or of the start; milliseconds since the epoch. */
  succeededAt: number
}

/** What the process that has the store says of itself, in Prometheus' form. */
export function gatewayMetrics(
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
