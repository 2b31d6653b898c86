import { balanceOf } from '../../ledger/balance-book.ts'
import type { Micros } from '../../ledger/ledger.ts'
import type { ChargeLine } from '../../ledger/price-charge.ts'
import type { AccountReport, ChargeRecord, ChargeReport } from '../../ledger/reports.ts'
import type { RiskRule } from '../../ledger/risk.ts'
import { formatRoubles } from '../../money/amount.ts'
import type { Meters } from '../../money/usage.ts'
import { readDetails } from './store-operation.ts'
import { ledgerColumns } from './ledger-columns.ts'
import type { RowOf } from './store-schema.ts'
import { returnedColumn } from '../records/customer-tables.ts'
import type { QueryValue, StoreQueries } from './store-queries.ts'

/** Charges are read this many at a time, so that nothing else waits long for the thread. */
const pageRows = 500

/** What rows must be like, beside other conditions: each with ` AND ` before it. */
export interface Conditions {
  readonly sql: string
  readonly values: readonly QueryValue[]
}

/** Conditions of one value each; those without a value are left out. */
export function conditions(pairs: readonly (readonly [string, QueryValue | undefined])[]): Conditions {
  const used = pairs.filter(([, value]) => value !== undefined)
  return {
    sql: used.map(([condition]) => ` AND ${condition}`).join(''),
    values: used.map(([, value]) => value ?? null),
  }
}

/** Charges after an id, the oldest first, page by page. */
export async function* chargesById<Row extends { readonly id: number }>(
  queries: StoreQueries,
  columns: string,
  { sql, values }: Conditions,
  afterId = 0,
): AsyncGenerator<readonly Row[], void, void> {
  const select = `SELECT ${columns} FROM charges WHERE revision = 0${sql} AND id > ? ORDER BY id LIMIT ?`
  for (let last: number | undefined = afterId; last !== undefined;) {
    const rows: readonly Row[] = await queries.all<Row>(select, [...values, last, pageRows])
    yield rows
    last = rows[pageRows - 1]?.id
  }
}

/** Not told of charges: the revision, and what the provider said, which may be long. */
const unreported = ['revision', 'raw_usage'] as const

/** A charge, with what of it was given back. */
export type ChargeRow = Omit<RowOf<typeof ledgerColumns.charges>, (typeof unreported)[number]> & {
  readonly returned_micros: Micros
}

/** The columns of a charge. */
export const chargeColumns = [
  ...Object.keys(ledgerColumns.charges).filter(column => !unreported.some(one => one === column)),
  returnedColumn,
].join(', ')

/** A customer's account, with what its open holds come to. */
export type AccountRow = Pick<
  RowOf<typeof ledgerColumns.accounts>,
  'id' | 'name' | 'created_at' | 'balance_micros' | 'debt_micros' | 'paid_micros'
> & { readonly email: string; readonly held_sum: Micros; readonly worst_sum: Micros }

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

/** The lines of a charge. */
export type ChargedRow = Pick<ChargeRow, 'lines'>

/** Takes the exchange; of one with many turns it is the first. */
export const selectCharged = `SELECT lines FROM charges
  WHERE exchange_id = ? AND sequence = 0 AND revision = 0`

/** What a charge was for, all its lines together; nothing where there is none. */
export function chargedUsage(row: ChargedRow | undefined): Meters {
  const lines: readonly ChargeLine[] = row === undefined ? [] : JSON.parse(row.lines)
  return sumOfLines(lines)
}
