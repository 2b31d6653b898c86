import type { Counter } from 'prom-client'
import { alarmCodes, flagAlarmCodes } from '../pipeline/alarm-codes.ts'
import type { AlarmCode } from '../pipeline/alarm-codes.ts'
import type { ProviderReading } from '../upstream/provider-state.ts'

/** The labels of an alarm; each of them names what it is about, where it is about such a thing. */
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

/** Counts an alarm. */
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

/** Has every alarm that can come counted from 0 on: a rule sees no increase in a series that begins at 1. */
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
