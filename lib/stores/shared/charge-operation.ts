import type { ChargeRequest, ChargeResult } from '../../ledger/ledger.ts'
import type { ChargeLine } from '../../ledger/price-charge.ts'
import { writeDetails } from './charge-details.ts'
import type { ChargeOperation } from './store-operation.ts'

/** What a charge says of the hold that it ends. */
interface ChargedHold {
  readonly exchangeId: string
  readonly sequence: number
  readonly accountId: string
  readonly keyId: string
}

/** A charge as SQLite's writer takes it. */
export function chargeOperation(
  hold: ChargedHold,
  at: number,
  request: ChargeRequest,
  lines: readonly ChargeLine[],
  { amountMicros, overrunMicros, flags }: ChargeResult,
): ChargeOperation {
  return [
    'charge',
    hold.exchangeId,
    hold.sequence,
    hold.accountId,
    hold.keyId,
    at,
    request.provider,
    request.model,
    request.dialect,
    request.operation,
    request.outcome,
    request.usageSource,
    JSON.stringify(lines),
    request.rawUsage ?? null,
    writeDetails(request),
    flags.length === 0 ? '[]' : JSON.stringify(flags),
    amountMicros,
    overrunMicros,
  ]
}
