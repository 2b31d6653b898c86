import { Gauge, type Counter, type Registry } from 'prom-client'
import { alarmCodes, flagAlarmCodes, type AlarmCode } from '../pipeline/alarm-codes.ts'
import type { ProviderReading } from '../upstream/provider-state.ts'
import type { CredentialReading } from '../upstream/credential-state.ts'

/** The labels of an alarm; each names the object concerned, where there is one. */
export const alarmLabels = ['code', 'provider', 'egress', 'credential'] as const
export type AlarmCounter = Counter<(typeof alarmLabels)[number]>

const ofEgress: readonly AlarmCode[] = ['egress_down', 'egress_up']
const ofCredential: readonly AlarmCode[] = ['credential_suspended', 'credential_restored']
const ofProvider: readonly AlarmCode[] = [
  'job_unanswered',
  'usage_repeated',
  'usage_unmatched',
  ...flagAlarmCodes,
]

export function countAlarm(
  counter: AlarmCounter,
  code: string,
  { provider, egress, credentialName }: Readonly<Record<string, unknown>>,
): void {
  counter.inc({
    code,
    ...(typeof provider === 'string' && { provider }),
    ...(typeof egress === 'string' && { egress }),
    ...(typeof credentialName === 'string' && { credential: credentialName }),
  })
}

/** Starts the counter of every possible alarm at 0: a rule sees no increase in a series that begins at 1. */
export function declareAlarms(counter: AlarmCounter, readings: readonly ProviderReading[]): void {
  for (const code of alarmCodes) counter.inc({ code }, 0)
  for (const { name: provider, egress, credentials } of readings) {
    for (const code of ofProvider) counter.inc({ code, provider }, 0)
    for (const code of ofEgress)
      for (const { name } of egress) counter.inc({ code, provider, egress: name }, 0)
    for (const code of ofCredential)
      for (const { name } of credentials) counter.inc({ code, provider, credential: name }, 0)
  }
}

const credentialStates: readonly CredentialReading[] = ['ready', 'resting', 'suspended', 'paused']

/** Registers the state of each provider. Of several processes the worst value counts, and every state that one has. */
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
        // Drops providers that a reload has removed.
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
