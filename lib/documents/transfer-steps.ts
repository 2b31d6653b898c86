import { microsPerKopeck } from '../money/kopecks.ts'
import type { TransferRow } from '../stores/records/document-tables.ts'
import type { RecordMovement, RecordReader, RecordStep } from '../stores/records/records.ts'

/** What was done with a transfer, by which person's words. */
export interface TransferChange {
  readonly action: 'credit' | 'assign' | 'return' | 'undo'
  readonly accountId: string | null
  readonly note: string
  readonly at: number
  /** For the operators' log; undefined: the gateway did it by its rules. */
  readonly operator?: string | undefined
}

/** Keeps what was done with a transfer. */
export function changeStep(
  records: RecordReader,
  { id, revision }: TransferRow,
  change: TransferChange,
): RecordStep {
  const { action, accountId, note, at } = change
  const row = { transfer_id: id, revision, action, account_id: accountId, note, at }
  return { write: records.build.insertInto('transfer_changes').values(row) }
}

/** The ledger books each entry once by its id: a payment that is assigned anew has another revision. */
export function transferMovement(
  { id, revision, number, date, amount_kopecks }: TransferRow,
  { accountId, reason, at }: { readonly accountId: string; readonly reason: string; readonly at: number },
): RecordMovement {
  return {
    id: `transfer:${id}:${revision}`,
    accountId,
    amountMicros: amount_kopecks * microsPerKopeck,
    reason: `${reason} ${number} of ${date}`,
    at,
    source: 'payment',
  }
}

/** Credits an account with a transfer. */
export function creditStep(row: TransferRow, accountId: string, at: number): RecordStep {
  return { credit: transferMovement(row, { accountId, reason: 'bank transfer', at }) }
}
