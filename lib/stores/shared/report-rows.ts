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

/** Charges that are read at a time: bounds how long other work waits for the thread. */
const pageRows = 500

/** Additional conditions on rows, each with ` AND ` before it. */
export interface Conditions {
  readonly sql: string
  readonly values: readonly QueryValue[]
}

/** Joins conditions of one value each; leaves out those without a value. */
export function conditions(pairs: readonly (readonly [string, QueryValue | undefined])[]): Conditions {
  const used = pairs.filter(([, value]) => value !== undefined)
  return {
    sql: used.map(([condition]) => ` AND ${condition}`).join(''),
    values: used.map(([, value]) => value ?? null),
  }
}

/** Charges after an id, oldest first, page by page. */
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

/** Columns that reports leave out: the revision, and the provider's raw usage, which may be long. */
const unreported = ['revision', 'raw_usage'] as const

/** A charge, with the amount that corrections have returned. */
export type ChargeRow = Omit<RowOf<typeof ledgerColumns.charges>, (typeof unreported)[number]> & {
  readonly returned_micros: Micros
}

/** The columns of `ChargeRow`. */
export const chargeColumns = [
  ...Object.keys(ledgerColumns.charges).filter(column => !unreported.some(one => one === column)),
  returnedColumn,
].join(', ')

/** A customer's account, with the sums of its open holds. */
export type AccountRow = Pick<
  RowOf<typeof ledgerColumns.accounts>,
  'id' | 'name' | 'created_at' | 'balance_micros' | 'debt_micros' | 'paid_micros'
> & { readonly email: string; readonly held_sum: Micros; readonly worst_sum: Micros }

/** Units by meter over all lines, whatever their models. */
function sumOfLines(lines: readonly ChargeLine[]): Meters {
  const sum: Record<string, number> = {}
  for (const line of lines) {
    for (const [meter, units] of Object.entries(line.meters)) sum[meter] = (sum[meter] ?? 0) + units
  }
  return sum
}

/** A charge as reports show it: amounts as decimals, times in ISO 8601. */
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

/** An account as reports show it. */
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

/** The value is the exchange's id. Of an exchange with many charges it selects the first. */
export const selectCharged = `SELECT lines FROM charges
  WHERE exchange_id = ? AND sequence = 0 AND revision = 0`

/** The units of a charge over all its lines; empty when there is no charge. */
export function chargedUsage(row: ChargedRow | undefined): Meters {
  const lines: readonly ChargeLine[] = row === undefined ? [] : JSON.parse(row.lines)
  return sumOfLines(lines)
}
