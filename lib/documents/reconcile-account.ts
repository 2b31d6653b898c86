import type { Seller } from '../companies/seller.ts'
import { roundToKopecks } from '../money/kopecks.ts'
import type { Kopecks } from '../money/kopecks.ts'
import type { RecordReader } from '../stores/records/records.ts'
import { listClosing } from './closing-documents.ts'
import { CompanyBook } from './company-book.ts'
import { DocumentError } from './document-error.ts'
import type { ReconciliationRow, ReconciliationStatement } from './document.ts'
import { contractOf } from './invoices.ts'
import { dayEnd, moscowDay } from './moscow-days.ts'
import { shortDay } from './print/printed-text.ts'

/**
 * What passed between the seller and an account's company over some days: closing documents against money that came
 * in and went back. A starting credit is a gift, and no money.
 *
 * @throws DocumentError when the account has no company, or the days are the wrong way round
 */
export async function reconcile(
  records: RecordReader,
  seller: Seller,
  { accountId, from, to }: { readonly accountId: string; readonly from: string; readonly to: string },
): Promise<ReconciliationStatement> {
  if (to < from) throw new DocumentError(`the last day, ${to}, is before the first, ${from}`)
  const company = await new CompanyBook(records).current(accountId)
  if (company === undefined) throw new DocumentError(`the account ${accountId} has no company details`)
  const sales = await documentRows(records, seller, accountId)
  const payments = await paymentRows(records, accountId, to)
  const rows = [...sales, ...payments]
    .filter(row => row.date <= to)
    .toSorted((a, b) => a.date.localeCompare(b.date))
  const earlier = rows.filter(row => row.date < from)
  return {
    kind: 'reconciliation',
    date: to,
    from,
    to,
    seller,
    buyer: company.details,
    contract: contractOf(company),
    opening: balance(earlier),
    rows: rows.slice(earlier.length),
  }
}

/** What the buyer owes at the end; negative: what it has paid ahead. */
export function closingBalance({ opening, rows }: ReconciliationStatement): Kopecks {
  return opening + balance(rows)
}

function balance(rows: readonly ReconciliationRow[]): Kopecks {
  return rows.reduce((sum, row) => sum + row.debit - row.credit, 0)
}

/** A correction changes no sum. */
async function documentRows(
  records: RecordReader,
  seller: Seller,
  accountId: string,
): Promise<readonly ReconciliationRow[]> {
  const all = await listClosing(records, { accountId })
  return all
    .map(one => one.document)
    .filter(document => document.correction === undefined && document.seller.inn === seller.inn)
    .map(({ kind, number, date, amount }) => ({
      date,
      name: `${kind === 'act' ? 'Акт' : 'УПД'} № ${number} от ${shortDay(date)}`,
      debit: amount,
      credit: 0,
    }))
}

async function paymentRows(
  records: RecordReader,
  accountId: string,
  to: string,
): Promise<readonly ReconciliationRow[]> {
  const entries = await records.all(
    records.build
      .selectFrom('entries')
      .select(['exchange_id', 'kind', 'amount_micros', 'at', 'source'])
      .where('account_id', '=', accountId)
      .where('kind', 'in', ['credit', 'debit'])
      .where('at', '<', dayEnd(to)),
  )
  return entries
    .filter(entry => entry.source !== 'starting')
    .map(entry => {
      const { amount_micros: micros, source, exchange_id: id } = entry
      const amount = roundToKopecks(Math.abs(micros))
      return {
        date: moscowDay(entry.at),
        name: nameOf(id, micros > 0, source),
        debit: micros < 0 ? amount : 0,
        credit: micros > 0 ? amount : 0,
      }
    })
}

function nameOf(id: string, isIncoming: boolean, source: string | null): string {
  if (source !== 'payment') return 'Корректировка'
  if (!isIncoming) return 'Возврат оплаты'
  return id.startsWith('transfer:') ? 'Оплата по счёту' : 'Оплата'
}
