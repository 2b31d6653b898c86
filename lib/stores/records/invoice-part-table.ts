import type { ExpressionBuilder } from 'kysely'
import type { TableWords } from '../shared/store-schema.ts'
import type { RecordTables } from './records.ts'

/** Columns of the table below. */
export const invoicePartColumns = {
  /** What of a transfer pays which invoice. It counts while the transfer has this revision: one that is undone pays none. */
  invoice_parts: {
    transfer_id: 'TEXT NOT NULL REFERENCES transfers (id)',
    revision: 'INTEGER NOT NULL',
    invoice_id: 'TEXT NOT NULL REFERENCES invoices (id)',
    amount_kopecks: 'BIGINT NOT NULL CHECK (amount_kopecks > 0)',
  },
} as const

/** Parts of transfers, with those that were credited before there were parts. */
export function invoicePartTables({ table, appendOnly }: TableWords): string {
  return `
${table(invoicePartColumns, 'invoice_parts', ['PRIMARY KEY (transfer_id, revision, invoice_id)'])}
CREATE INDEX invoice_parts_by_invoice ON invoice_parts (invoice_id);
INSERT INTO invoice_parts SELECT id, revision, invoice_id, amount_kopecks FROM transfers
  WHERE state = 'credited' AND invoice_id IS NOT NULL;
${appendOnly('invoice_parts', 'what was issued is not changed')}
`
}

/** What has been paid for an invoice, as a part of a query that reads or changes invoices. */
export function paidParts(invoice: ExpressionBuilder<RecordTables, 'invoices'>) {
  return invoice
    .selectFrom('invoice_parts')
    .innerJoin('transfers', 'transfers.id', 'invoice_parts.transfer_id')
    .select(part =>
      part.fn.coalesce(part.fn.sum<number>('invoice_parts.amount_kopecks'), part.lit(0)).as('paid'),
    )
    .whereRef('invoice_parts.invoice_id', '=', 'invoices.id')
    .whereRef('invoice_parts.revision', '=', 'transfers.revision')
}
