import type { ClosingRow } from '../stores/records/document-tables.ts'
import type { ClosingDocument } from './document.ts'

/** A document of a month as it is stored. */
export interface StoredClosing {
  readonly id: string
  readonly accountId: string
  readonly month: string
  readonly state: ClosingRow['state']
  readonly document: ClosingDocument
}

/** A row as a document. */
export function storedClosing(row: ClosingRow): StoredClosing {
  return {
    id: row.id,
    accountId: row.account_id,
    month: row.month,
    state: row.state,
    document: JSON.parse(row.document) as ClosingDocument,
  }
}

/** A document as a row. */
export function closingRow(
  { id, accountId, month, state, document }: StoredClosing,
  { sellerInn, number, at }: { readonly sellerInn: string; readonly number: number; readonly at: number },
): ClosingRow {
  return {
    id,
    account_id: accountId,
    seller_inn: sellerInn,
    year: Number(month.slice(0, 4)),
    number,
    correction: document.correction?.number ?? 0,
    month,
    date: document.date,
    kind: document.kind,
    amount_kopecks: document.amount,
    vat_kopecks: document.vat,
    buyer_inn: document.buyer.inn,
    document: JSON.stringify(document),
    state,
    created_at: at,
  }
}
