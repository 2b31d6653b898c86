import type { ChargeRequest, ChargeResult } from '../../ledger/ledger.ts'
import type { ChargeLine } from '../../ledger/price-charge.ts'
import type { ChargeOperation, HoldOwner, ReleaseOperation } from './store-operation.ts'

/** PostgreSQL's text holds no NUL and no half of a surrogate pair; what a provider sends may. */
export function storable(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text).toWellFormed()
}

/** What a charge keeps beside its lines. */
type ChargeDetails = Pick<ChargeRequest, 'details' | 'providerRequestId'>

/** A charge as SQLite's writer takes it. */
export function chargeOperation(
  hold: HoldOwner,
  at: number,
  request: ChargeRequest,
  lines: readonly ChargeLine[],
  { amountMicros, overrunMicros, flags }: ChargeResult,
): ChargeOperation {
  return {
    kind: 'charge',
    exchangeId: hold.exchangeId,
    sequence: hold.sequence,
    accountId: hold.accountId,
    keyId: hold.keyId,
    at,
    provider: request.provider,
    model: request.model,
    dialect: request.dialect,
    operation: request.operation,
    outcome: request.outcome,
    usageSource: request.usageSource,
    lines: JSON.stringify(lines),
    rawUsage: request.rawUsage ?? null,
    details: writeDetails(request),
    flags: flags.length === 0 ? '[]' : JSON.stringify(flags),
    amountMicros,
    overrunMicros,
  }
}

/** The end of a hold that is not charged, as SQLite's writer takes it. */
export function releaseOperation(
  { exchangeId, sequence, accountId }: HoldOwner,
  state: ReleaseOperation['state'],
  at: number,
): ReleaseOperation {
  return { kind: 'release', exchangeId, sequence, accountId, state, at }
}

/** As the column has it: the counts, and the provider's request id among them. */
export function writeDetails({ details, providerRequestId }: ChargeDetails): string | null {
  if (providerRequestId === undefined) return details === undefined ? null : JSON.stringify(details)
  return JSON.stringify({ ...details, providerRequestId: storable(providerRequestId) })
}

export function readDetails(column: string | null): ChargeDetails {
  if (column === null) return {}
  const { providerRequestId, ...details } = JSON.parse(column) as Record<string, number> & {
    providerRequestId?: string
  }
  return {
    ...(Object.keys(details).length > 0 && { details }),
    ...(providerRequestId !== undefined && { providerRequestId }),
  }
}
