import type { ChargeLine } from '../../ledger/price-charge.ts'
import type { Meters } from '../../money/usage.ts'
import { sumOfLines } from './report-rows.ts'

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
