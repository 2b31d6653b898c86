import type { ChargeRecord } from '../../ledger/charge-records.ts'
import { balanceOf } from '../../ledger/balance-book.ts'
import type { Micros } from '../../ledger/ledger.ts'
import type { ChargeLine } from '../../ledger/price-charge.ts'
import type { AccountReport, ChargeReport } from '../../ledger/reports.ts'
import type { RiskRule } from '../../ledger/risk.ts'
import { formatRoubles } from '../../money/amount.ts'
import type { Meters } from '../../money/usage.ts'
import { readDetails } from './charge-operation.ts'
import { returnedColumn } from '../records/customer-tables.ts'

/** A charge as the table has it; lines, details and flags are JSON. */
export interface ChargeRow {
  readonly id: number
  readonly exchange_id: string
  readonly sequence: number
  readonly at: number
  readonly account_id: string
  readonly key_id: string
  readonly provider: string
  readonly model: string
  readonly dialect: string
  readonly operation: string
  readonly outcome: string
  readonly usage_source: string
  readonly lines: string
  readonly details: string | null
  readonly flags: string
  readonly amount_micros: Micros
  readonly overrun_micros: Micros
  readonly returned_micros: Micros
}

/** The columns of a charge. */
export const chargeColumns = `id, exchange_id, sequence, at, account_id, key_id, provider, model, dialect, operation, outcome,
  usage_source, lines, details, flags, amount_micros, overrun_micros, ${returnedColumn}`

/** An account as the reports ask for it. */
export interface AccountRow {
  readonly id: string
  readonly name: string | null
  readonly email: string
  readonly created_at: number
  readonly balance_micros: Micros
  readonly debt_micros: Micros
  readonly paid_micros: Micros
  readonly held_sum: Micros
  readonly worst_sum: Micros
}

/** What was used, by meter, whatever model it was used of. */
function sumOfLines(lines: readonly ChargeLine[]): Meters {
  const sum: Record<string, number> = {}
  for (const line of lines) {
    for (const [meter, units] of Object.entries(line.meters)) sum[meter] = (sum[meter] ?? 0) + units
  }
  return sum
}

/** A charge as reports tell it: amounts as decimals, times in ISO 8601. */
export function chargeReport(row: ChargeRow): ChargeReport {
  const lines: readonly ChargeLine[] = JSON.parse(row.lines)
  return {
    requestId: row.exchange_id,
    sequence: row.sequence,
    at: new Date(row.at).toISOString(),
    account: row.account_id,
    key: row.key_id,
    provider: row.provider,
    model: row.model,
    dialect: row.dialect,
    operation: row.operation,
    outcome: row.outcome,
    usage: sumOfLines(lines),
    usageSource: row.usage_source,
    lines: lines.map(({ amountMicros, ...line }) => ({ ...line, amount: formatRoubles(amountMicros) })),
    ...readDetails(row.details),
    amount: formatRoubles(row.amount_micros),
    ...(row.overrun_micros === 0 ? {} : { overrun: formatRoubles(row.overrun_micros) }),
    ...(row.returned_micros === 0 ? {} : { returned: formatRoubles(row.returned_micros) }),
    flags: JSON.parse(row.flags),
  }
}

/** A charge as pages show it. */
export function chargeRecord(row: ChargeRow): ChargeRecord {
  const lines: readonly ChargeLine[] = JSON.parse(row.lines)
  return {
    id: row.id,
    requestId: row.exchange_id,
    sequence: row.sequence,
    at: row.at,
    keyId: row.key_id,
    provider: row.provider,
    model: row.model,
    dialect: row.dialect,
    operation: row.operation,
    outcome: row.outcome,
    usageSource: row.usage_source,
    lines,
    usage: sumOfLines(lines),
    details: {},
    ...readDetails(row.details),
    flags: JSON.parse(row.flags),
    amountMicros: row.amount_micros,
    overrunMicros: row.overrun_micros,
    returnedMicros: row.returned_micros,
  }
}

/** An account as reports tell it. */
export function accountReport(row: AccountRow, rule: RiskRule): AccountReport {
  return {
    id: row.id,
    name: row.name ?? undefined,
    email: row.email,
    createdAt: row.created_at,
    ...balanceOf(
      {
        netMicros: row.balance_micros - row.debt_micros,
        heldMicros: row.held_sum,
        worstMicros: row.worst_sum,
        paidMicros: row.paid_micros,
      },
      rule,
    ),
  }
}

/** The lines of a charge, as JSON. */
export interface ChargedRow {
  readonly lines: string
}

/** Takes the exchange; of one with many turns it is the first. */
export const selectCharged = `SELECT lines FROM charges
  WHERE exchange_id = ? AND sequence = 0 AND revision = 0`

/** What a charge was for, all its lines together; nothing where there is none. */
export function chargedUsage(row: ChargedRow | undefined): Meters {
  const lines: readonly ChargeLine[] = row === undefined ? [] : JSON.parse(row.lines)
  return sumOfLines(lines)
}
