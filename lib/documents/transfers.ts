import type { TransferRow } from '../stores/records/document-tables.ts'
import { contains } from '../stores/records/find-accounts.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { RecordReader, RecordMovement, RecordStep, Records } from '../stores/records/records.ts'
import { DocumentError } from './document.ts'
import { microsPerKopeck, type Kopecks } from '../money/kopecks.ts'
import { actionSteps } from '../administration/operator-log.ts'

/** Transfers in a state, or all; the newest first. */
export function listTransfers(
  records: RecordReader,
  state?: TransferRow['state'],
): Promise<readonly TransferRow[]> {
  const all = records.build.selectFrom('transfers').selectAll().orderBy('received_on', 'desc').orderBy('id')
  return records.all(state === undefined ? all : all.where('state', '=', state))
}

interface TransferSearch {
  readonly state?: TransferRow['state'] | undefined
  /** Part of the payer's name, or the INN; empty: any. */
  readonly text: string
  readonly sort: 'day' | 'amount'
  readonly isDescending: boolean
  readonly limit: number
  readonly offset: number
}

export function findTransfers(
  records: RecordReader,
  { state, text, sort, isDescending, limit, offset }: TransferSearch,
): Promise<readonly TransferRow[]> {
  const order = isDescending ? 'desc' : 'asc'
  let query = records.build
    .selectFrom('transfers')
    .selectAll()
    .orderBy(sort === 'amount' ? 'amount_kopecks' : 'received_on', order)
    .orderBy('id', order)
    .limit(limit)
    .offset(offset)
  if (state !== undefined) query = query.where('state', '=', state)
  if (text !== '') {
    query = query.where(row =>
      row.or([contains(records.sql, 'payer_name', text), row('payer_inn', '=', text)]),
    )
  }
  return records.all(query)
}

/** The transfer whose id has this prefix. @throws DocumentError unless exactly one matches */
async function findTransfer(records: RecordReader, id: string): Promise<TransferRow> {
  const rows = await records.all(
    records.build
      .selectFrom('transfers')
      .selectAll()
      .where('id', '>=', id)
      .where('id', '<', `${id}~`)
      .limit(2),
  )
  const [row] = rows
  if (row !== undefined && rows.length === 1 && id.length >= 6) return row
  throw row === undefined
    ? new DocumentError(
        'transfer_not_found',
        `there is no transfer ${id}: gateway statement list shows them`,
        { id },
      )
    : new DocumentError(
        'transfer_ambiguous',
        `"${id}" is not enough of the transfer's id to tell it: give more of its characters`,
        { id },
      )
}

/** A change of a transfer, with the note of the person who made it. */
interface TransferChange {
  readonly action: 'credit' | 'assign' | 'return' | 'undo'
  readonly accountId: string | null
  readonly note: string
  readonly at: number
  /** For the operator log; undefined when the gateway's rules made the change. */
  readonly operator?: string | undefined
}

/** Records a change of a transfer. */
export function changeStep(
  records: RecordReader,
  { id, revision }: TransferRow,
  change: TransferChange,
): RecordStep {
  const { action, accountId, note, at } = change
  const row = { transfer_id: id, revision, action, account_id: accountId, note, at }
  return { write: records.build.insertInto('transfer_changes').values(row) }
}

/** Records which invoices a transfer pays, and how much of each. */
export function partSteps(
  records: RecordReader,
  { id, revision }: TransferRow,
  parts: readonly { readonly invoiceId: string; readonly amount: Kopecks }[],
): readonly RecordStep[] {
  return parts.map(({ invoiceId, amount }) => ({
    write: records.build
      .insertInto('invoice_parts')
      .values({ transfer_id: id, revision, invoice_id: invoiceId, amount_kopecks: amount }),
  }))
}

/** The ledger books an entry once per id, so a payment assigned again has another revision. */
function transferMovement(
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

export function creditStep(row: TransferRow, accountId: string, at: number): RecordStep {
  return { credit: transferMovement(row, { accountId, reason: 'bank transfer', at }) }
}

/** Writes a change of a transfer, which must be unchanged since it was read. */
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
    const { id } = row
    const message = `the transfer ${id} was changed by somebody else meanwhile; look at it again`
    throw new DocumentError('transfer_changed', message, { id }, { cause: error })
  }
  return changed
}

/** An operator's decision: the account of a transfer, or the invoice that it pays. */
interface Assignment {
  readonly id: string
  readonly to: { readonly accountId: string } | { readonly invoiceId: string }
  readonly note: string
  readonly at: number
  readonly operator?: string
}

/**
 * Credits a queued transfer to an account, or to the account of an invoice, which then counts as paid by it.
 * @throws DocumentError when the transfer is not queued, or the invoice does not exist or is canceled
 */
export async function assignTransfer(
  records: Records,
  { id, to, note, at, operator }: Assignment,
): Promise<TransferRow> {
  const row = await findTransfer(records, id)
  if (row.state !== 'queued') throw decided(row)
  const invoiceId = 'invoiceId' in to ? to.invoiceId : null
  const accountId = 'invoiceId' in to ? await accountOfInvoice(records, to.invoiceId) : to.accountId
  const next = {
    state: 'credited',
    account_id: accountId,
    invoice_id: invoiceId,
    reason: 'assigned',
  } as const
  const parts = invoiceId === null ? [] : [{ invoiceId, amount: row.amount_kopecks }]
  return change(records, row, next, { action: 'assign', accountId, note, at, operator }, changed => [
    ...partSteps(records, changed, parts),
    creditStep(changed, accountId, at),
  ])
}

function decided({ id, state }: TransferRow): DocumentError {
  return new DocumentError('transfer_decided', `the transfer ${id} is ${state}; undo that first`, { id })
}

async function accountOfInvoice(records: Records, id: string): Promise<string> {
  const [row] = await records.all(
    records.build
      .selectFrom('invoices')
      .select('account_id')
      .where('id', '=', id)
      .where('cancelled_at', 'is', null),
  )
  if (row !== undefined) return row.account_id
  const message = `there is no invoice ${id} that could be paid: gateway invoice list shows them; name the account instead`
  throw new DocumentError('invoice_not_found', message, { id })
}

type Decision = Omit<Assignment, 'to'>

/** Marks a queued transfer as returned to its payer. @throws DocumentError when it is not queued */
export async function returnTransfer(
  records: Records,
  { id, note, at, operator }: Decision,
): Promise<TransferRow> {
  const row = await findTransfer(records, id)
  if (row.state !== 'queued') throw decided(row)
  const next = { state: 'returned', account_id: null, reason: 'returned' } as const
  return change(records, row, next, { action: 'return', accountId: null, note, at, operator })
}

/**
 * Undoes the decision on a transfer, so that it is queued again; credited money is debited from the account.
 *
 * @throws DocumentError when there is no decision to undo
 * @throws AccountError balance_insufficient when the account has used the money
 */
export async function undoTransfer(
  records: Records,
  { id, note, at, operator }: Decision,
): Promise<TransferRow> {
  const row = await findTransfer(records, id)
  if (row.state === 'queued')
    throw new DocumentError('transfer_queued', `nothing was done with the transfer ${row.id}: it is queued`, {
      id: row.id,
    })
  const accountId = row.account_id
  const next = { state: 'queued', account_id: null, invoice_id: null, reason: 'undone' } as const
  return change(records, row, next, { action: 'undo', accountId, note, at, operator }, changed =>
    accountId === null
      ? []
      : [{ debit: transferMovement(changed, { accountId, reason: 'bank transfer taken back:', at }) }],
  )
}
