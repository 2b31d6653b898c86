import { actionSteps } from '../administration/operator-log.ts'
import type { TransferRow } from '../stores/records/document-tables.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { RecordStep, Records } from '../stores/records/records.ts'
import { DocumentError } from './document-error.ts'
import { changeStep, creditStep, transferMovement } from './transfer-steps.ts'
import type { TransferChange } from './transfer-steps.ts'
import { findTransfer } from './transfers.ts'

/** Writes a change of a transfer that must still be as it was read. */
async function change(
  records: Records,
  row: TransferRow,
  next: Partial<TransferRow> & Pick<TransferRow, 'state' | 'account_id'>,
  what: TransferChange & { readonly action: 'assign' | 'return' | 'undo' },
  money: (changed: TransferRow) => readonly RecordStep[] = () => [],
): Promise<TransferRow> {
  const changed: TransferRow = { ...row, ...next, revision: row.revision + 1 }
  const { action, note, operator, at } = what
  const accountId = changed.account_id ?? what.accountId ?? ''
  const told = { operator, accountId, reason: `${row.id.slice(0, 12)} ${note}`.trim(), at }
  const { state, account_id, invoice_id, reason, revision } = changed
  const update = records.build
    .updateTable('transfers')
    .set({ state, account_id, invoice_id, reason, revision })
    .where('id', '=', row.id)
    .where('revision', '=', row.revision)
  try {
    await records.write([
      { write: update, rows: 1 },
      changeStep(records, changed, what),
      ...actionSteps(records, { ...told, action: `${action}-transfer` }),
      ...money(changed),
    ])
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    throw new DocumentError(
      `the transfer ${row.id} was changed by somebody else meanwhile; look at it again`,
      {
        cause: error,
      },
    )
  }
  return changed
}

/** What a person knows of a transfer: whose it is, or which invoice it pays. */
interface Assignment {
  readonly id: string
  readonly to: { readonly accountId: string } | { readonly invoiceId: string }
  readonly note: string
  readonly at: number
  readonly operator?: string
}

/**
 * Credits a queued transfer to an account, or to the account of an invoice, which counts as paid by it.
 * @throws DocumentError when it is not queued, or there is no such invoice
 */
export async function assignTransfer(
  records: Records,
  { id, to, note, at, operator }: Assignment,
): Promise<TransferRow> {
  const row = await findTransfer(records, id)
  if (row.state !== 'queued')
    throw new DocumentError(`the transfer ${row.id} is ${row.state}; undo that first`)
  const invoiceId = 'invoiceId' in to ? to.invoiceId : null
  const accountId = 'invoiceId' in to ? await accountOfInvoice(records, to.invoiceId) : to.accountId
  const next = {
    state: 'credited',
    account_id: accountId,
    invoice_id: invoiceId,
    reason: 'assigned',
  } as const
  return change(records, row, next, { action: 'assign', accountId, note, at, operator }, changed => [
    creditStep(changed, accountId, at),
  ])
}

async function accountOfInvoice(records: Records, id: string): Promise<string> {
  const [row] = await records.all(
    records.build.selectFrom('invoices').select('account_id').where('id', '=', id),
  )
  if (row !== undefined) return row.account_id
  throw new DocumentError(`there is no invoice ${id}: gateway invoice list shows them`)
}

type Decision = Omit<Assignment, 'to'>

/** Marks a queued transfer as sent back to its payer. @throws DocumentError when it is not queued */
export async function returnTransfer(
  records: Records,
  { id, note, at, operator }: Decision,
): Promise<TransferRow> {
  const row = await findTransfer(records, id)
  if (row.state !== 'queued')
    throw new DocumentError(`the transfer ${row.id} is ${row.state}; undo that first`)
  const next = { state: 'returned', account_id: null, reason: 'returned' } as const
  return change(records, row, next, { action: 'return', accountId: null, note, at, operator })
}

/**
 * Takes back what was done with a transfer, so that a person may decide anew; money is taken out of the account again.
 *
 * @throws DocumentError when nothing was done with it
 * @throws AccountError balance_insufficient when the account has used the money
 */
export async function undoTransfer(
  records: Records,
  { id, note, at, operator }: Decision,
): Promise<TransferRow> {
  const row = await findTransfer(records, id)
  if (row.state === 'queued')
    throw new DocumentError(`nothing was done with the transfer ${row.id}: it is queued`)
  const accountId = row.account_id
  const next = { state: 'queued', account_id: null, invoice_id: null, reason: 'undone' } as const
  return change(records, row, next, { action: 'undo', accountId, note, at, operator }, changed =>
    accountId === null
      ? []
      : [{ debit: transferMovement(changed, { accountId, reason: 'bank transfer taken back:', at }) }],
  )
}
