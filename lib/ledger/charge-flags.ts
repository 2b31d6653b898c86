import { formatRoubles } from '../money/amount.ts'
import type { ChargeRequest, ChargeResult, HoldRequest } from './ledger.ts'

/** Flags that explain a charge, and that no operator needs to check. */
const reasons: readonly string[] =
  `cost_stated drawing_uncounted provider_refused provider_error reasoning_estimated size_estimated
    speech_measured tools_estimated`.split(/\s+/)

/** The flags of a charge that an operator should check. */
export function alarmsAmong(flags: readonly string[]): readonly string[] {
  return flags.length === 0 ? flags : flags.filter(flag => !reasons.includes(flag))
}

/**
 * The alarms of a charge for an operator: each code, and details that identify the charge.
 * @param tools the provider's tools that the request asked for, or that its model runs unasked
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

/** The values of the column of flags that no operator needs to check: no flag, or one that explains the charge. */
export const unremarkableFlags: readonly string[] = [[], ...reasons.map(reason => [reason])].map(flags =>
  JSON.stringify(flags),
)
