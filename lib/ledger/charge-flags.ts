import { formatRoubles } from '../money/amount.ts'
import type { ChargeRequest, ChargeResult, HoldRequest } from './ledger.ts'

/** Flags that say why a charge is what it is, and are nothing that an operator should look at. */
const reasons: readonly string[] =
  `cost_stated drawing_uncounted provider_refused provider_error reasoning_estimated size_estimated
    speech_measured tools_estimated`.split(/\s+/)

/** The flags of a charge that an operator should look at. */
export function alarmsAmong(flags: readonly string[]): readonly string[] {
  return flags.length === 0 ? flags : flags.filter(flag => !reasons.includes(flag))
}

/**
 * What an operator should look at in a charge: each alarm's code, and whose charge it is.
 * @param tools of its provider that the request asked for, or that its model runs unasked
 */
export function chargeAlarms(
  { exchangeId, accountId, keyId }: Pick<HoldRequest, 'exchangeId' | 'accountId' | 'keyId'>,
  { provider, model, lines }: Pick<ChargeRequest, 'provider' | 'model' | 'lines'>,
  { flags, overrunMicros }: ChargeResult,
  tools: readonly string[] = [],
): readonly (readonly [code: string, details: Readonly<Record<string, unknown>>])[] {
  const alarms = alarmsAmong(flags)
  if (alarms.length === 0) return []
  const details = {
    requestId: exchangeId,
    account: accountId,
    key: keyId,
    provider,
    model,
    ...(tools.length > 0 && { tools }),
    meters: [...new Set(lines.flatMap(({ usage }) => Object.keys(usage.meters)))],
    ...(overrunMicros > 0 && { owed: formatRoubles(overrunMicros) }),
  }
  return alarms.map(code => [code, details] as const)
}

/** Flags as a charge that was refused has them in its column, where nothing about it is odd. */
export const unremarkableFlags: readonly string[] = [[], ...reasons.map(reason => [reason])].map(flags =>
  JSON.stringify(flags),
)
