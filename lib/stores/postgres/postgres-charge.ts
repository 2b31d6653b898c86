import { budgetDay } from '../../ledger/key-spending.ts'
import type { ChargeRequest, Micros } from '../../ledger/ledger.ts'
import type { ChargeLine } from '../../ledger/price-charge.ts'
import { writeDetails } from '../shared/charge-operation.ts'
import type { PostgresOperation } from './postgres-operation.ts'
import type { HoldOwner } from '../shared/store-operation.ts'
import { storable } from '../shared/storable-text.ts'

/** A charge as `apply_operations` takes it. */
export function postgresCharge(
  hold: HoldOwner,
  at: number,
  request: ChargeRequest,
  priced: {
    readonly lines: readonly ChargeLine[]
    readonly costMicros: Micros
    readonly flags: readonly string[]
  },
): PostgresOperation {
  return {
    kind: 'charge',
    account: hold.accountId,
    exchange: hold.exchangeId,
    sequence: hold.sequence,
    key: hold.keyId,
    amount: priced.costMicros,
    at,
    day: budgetDay(at),
    provider: request.provider,
    model: storable(request.model),
    dialect: request.dialect,
    operation: request.operation,
    outcome: request.outcome,
    source: request.usageSource,
    lines: JSON.stringify(priced.lines),
    raw: request.rawUsage === undefined ? null : storable(request.rawUsage),
    details: writeDetails(request),
    flags: JSON.stringify(priced.flags),
  }
}
