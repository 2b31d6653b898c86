import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import type { CredentialReading } from '../upstream/credential-state.ts'
import type { ProviderReading } from '../upstream/provider-state.ts'

const credentialStates: readonly CredentialReading[] = ['ready', 'resting', 'suspended', 'paused']

/** Says of each provider what is known of it. Of several processes the worst counts, and every state that one has. */
export function registerProviderMetrics(registry: Registry, read: () => readonly ProviderReading[]): void {
  const gauge = <L extends string>(
    name: string,
    help: string,
    labelNames: L[],
    aggregator: 'min' | 'max',
    set: (own: Gauge<L>, reading: ProviderReading) => void,
  ): void => {
    const own: Gauge<L> = new Gauge({
      name: `gateway_${name}`,
      help,
      labelNames,
      aggregator,
      registers: [registry],
      collect() {
        // A provider that a reload has taken out is not said any more.
        own.reset()
        for (const reading of read()) set(own, reading)
      },
    })
  }
  gauge(
    'provider_up',
    '0: no credential or no egress of the provider is ready, as the last requests found, or it is paused.',
    ['provider'],
    'min',
    (own, { name, isUp }) => own.set({ provider: name }, isUp ? 1 : 0),
  )
  gauge(
    'egress_up',
    '0: the provider could not be reached over the egress, or does not serve its country.',
    ['provider', 'egress'],
    'min',
    (own, { name: provider, egress }) => {
      for (const { name, isUp } of egress) own.set({ provider, egress: name }, isUp ? 1 : 0)
    },
  )
  gauge(
    'credential_state',
    '1 for the state that the credential is in: ready, resting (not reached), suspended (refused) or paused.',
    ['provider', 'credential', 'state'],
    'max',
    (own, { name: provider, credentials }) => {
      for (const { name: credential, state } of credentials) {
        for (const one of credentialStates)
          own.set({ provider, credential, state: one }, one === state ? 1 : 0)
      }
    },
  )
}
