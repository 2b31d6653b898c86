import { actionStep } from '../administration/operator-log.ts'
import type { Kopecks } from '../money/kopecks.ts'
import { RecordConflictError } from '../stores/records/records.ts'
import type { RecordReader, Records, RecordStep } from '../stores/records/records.ts'
import type { Invoice } from './document.ts'
import { DocumentError } from './document-error.ts'

/** An invoice as it is stored, with what has been paid for it. */
export interface StoredInvoice {
  readonly id: string
  readonly accountId: string
  /** In the address of its public page. */
  readonly token: string
  readonly document: Invoice
  readonly paid: Kopecks
  readonly state: 'open' | 'overdue' | 'part-paid' | 'paid' | 'overpaid' | 'cancelled'
  readonly createdAt: number
}

/** Which invoices are meant; absent means all. */
interface InvoiceFilter {
  readonly accountId?: string
  readonly year?: number
  readonly id?: string
  readonly token?: string
  /** Of those that are to be paid on this day or later. */
  readonly payUntilFrom?: string
}

/** Invoices, the newest first. `today` decides which are overdue. */
export async function listInvoices(
  records: RecordReader,
  today: string,
  { accountId, year, id, token, payUntilFrom }: InvoiceFilter = {},
): Promise<readonly StoredInvoice[]> {
  const { build } = records
  let query = build
    .selectFrom('invoices')
    .selectAll()
    .select(one =>
      one
        .selectFrom('transfers')
        .select(transfer => transfer.fn.sum<number>('transfers.amount_kopecks').as('paid'))
        .whereRef('transfers.invoice_id', '=', 'invoices.id')
        .where('transfers.state', '=', 'credited')
        .as('paid'),
    )
    .orderBy('created_at', 'desc')
    .orderBy('number', 'desc')
  if (accountId !== undefined) query = query.where('account_id', '=', accountId)
  if (year !== undefined) query = query.where('year', '=', year)
  if (id !== undefined) query = query.where('id', '=', id)
  if (token !== undefined) query = query.where('token', '=', token)
  if (payUntilFrom !== undefined) query = query.where('pay_until', '>=', payUntilFrom)
  const rows = await records.all(query)
  return rows.map(row => {
    const paid = Number(row.paid ?? 0)
    return {
      id: row.id,
      accountId: row.account_id,
      token: row.token,
      document: JSON.parse(row.document) as Invoice,
      paid,
      state: stateOf({
        isCancelled: row.cancelled_at !== null,
        amount: row.amount_kopecks,
        paid,
        isLate: row.pay_until < today,
      }),
      createdAt: row.created_at,
    }
  })
}

function stateOf(one: {
  readonly isCancelled: boolean
  readonly amount: Kopecks
  readonly paid: Kopecks
  readonly isLate: boolean
}): StoredInvoice['state'] {
  if (one.isCancelled) return 'cancelled'
  if (one.paid > one.amount) return 'overpaid'
  if (one.paid === one.amount) return 'paid'
  if (one.paid > 0) return 'part-paid'
  return one.isLate ? 'overdue' : 'open'
}

/**
 * Cancels an invoice that must not be paid any more.
 * @param by the account whose it must be, or the operator whose log says so
 * @throws DocumentError when there is none, or it is cancelled
 */
export async function cancelInvoice(
  records: Records,
  id: string,
  at: number,
  by: { readonly accountId: string } | { readonly operator: string },
): Promise<void> {
  const { build } = records
  const open = build
    .updateTable('invoices')
    .set({ cancelled_at: at })
    .where('id', '=', id)
    .where('cancelled_at', 'is', null)
  const write = 'accountId' in by ? open.where('account_id', '=', by.accountId) : open
  const logged: RecordStep[] = []
  if ('operator' in by) {
    const [invoice] = await records.all(
      build.selectFrom('invoices').select('account_id').where('id', '=', id),
    )
    const accountId = invoice?.account_id ?? ''
    logged.push(
      actionStep(records, { operator: by.operator, action: 'cancel-invoice', accountId, reason: id, at }),
    )
  }
  try {
    await records.write([{ write, rows: 1 }, ...logged])
  } catch (error) {
    if (!(error instanceof RecordConflictError)) throw error
    throw new DocumentError(`there is no invoice ${id} that could be cancelled`, { cause: error })
  }
}
