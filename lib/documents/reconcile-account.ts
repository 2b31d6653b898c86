import type { Seller } from '../companies/seller.ts'
import { roundToKopecks } from '../money/kopecks.ts'
import type { Kopecks } from '../money/kopecks.ts'
import { chargedUntil } from '../stores/records/ledger-entries.ts'
import type { RecordReader } from '../stores/records/records.ts'
import { bookMoney, readMoney, lotsOf, spentBetween, type Lot } from './account-money.ts'
import { listClosing } from './closing-documents.ts'
import { currentCompany } from './company-versions.ts'
import { DocumentError, contractOf } from './document.ts'
import type { ClosingDocument, ReconciliationRow, ReconciliationStatement } from './document.ts'
import { dayEnd, dayNumber, lastDay } from '../ledger/moscow-days.ts'
import { monthBefore } from './month-close.ts'
import { shortDay } from './print/printed-text.ts'

/**
 * The transactions between the seller and an account's company over a period: closing documents against payments and
 * refunds. The unspent money from before the account was a company's is the opening balance. A starting credit is not
 * money: the part of it that is used appears as a discount beside the document.
 *
 * @throws DocumentError when the account has no company, or the first day is after the last
 */
export async function reconcile(
  records: RecordReader,
  seller: Seller,
  { accountId, from, to }: { readonly accountId: string; readonly from: string; readonly to: string },
): Promise<ReconciliationStatement> {
  if (to < from)
    throw new DocumentError('days_swapped', `the last day, ${to}, is before the first, ${from}`, { from, to })
  const company = await currentCompany(records, accountId)
  if (company === undefined)
    throw new DocumentError('company_missing', `the account ${accountId} has no company details`, {
      account: accountId,
    })
  const issued = (await listClosing(records, { accountId })).filter(
    ({ document }) => document.correction === undefined,
  )
  const isOwn = (document: ClosingDocument): boolean => document.seller.inn === seller.inn
  // An earlier seller's transactions are settled between that seller and the company.
  const others = issued.filter(({ document }) => !isOwn(document)).map(({ month }) => month)
  const begun = [monthBefore(company), ...others].toSorted().at(-1) ?? ''
  const end = lastDay(begun)
  const charged = await chargedUntil(records, {
    accountsOf: 'companies',
    day: dayNumber(end),
    end: dayEnd(end),
  })
  const before = roundToKopecks(charged.get(accountId) ?? 0)
  const moved = (await readMoney(records, accountId)).filter(one => one.day <= to)
  const own = issued.map(one => one.document).filter(isOwn)
  const rows = [
    ...documentRows(own),
    ...discountRows(own, moved, before),
    ...moneyRows(
      moved.filter(one => one.day > end),
      bookMoney(moved).refunded,
    ),
  ]
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
    opening:
      balance(earlier) -
      paidAhead(
        moved.filter(one => one.day <= end),
        before,
      ),
    rows: rows.slice(earlier.length),
  }
}

/** The buyer's debt at the end; negative for a prepayment. */
export function closingBalance({ opening, rows }: ReconciliationStatement): Kopecks {
  return opening + balance(rows)
}

function balance(rows: readonly ReconciliationRow[]): Kopecks {
  return rows.reduce((sum, row) => sum + row.debit - row.credit, 0)
}

/** The paid and unspent amount when an account became a company's. */
function paidAhead(moved: Parameters<typeof lotsOf>[0], spent: Kopecks): Kopecks {
  const lots = lotsOf(moved)
  const paid = lots.reduce((sum, lot) => sum + (lot.isGift ? 0 : lot.net), 0)
  return (
    paid - spentBetween(lots, 0, spent).reduce((sum, { lot, amount }) => sum + (lot.isGift ? 0 : amount), 0)
  )
}

/** Money paid and refunded. A granted credit was never paid, so its debit is no refund either. */
function moneyRows(
  moved: Awaited<ReturnType<typeof readMoney>>,
  refunded: ReadonlyMap<string, Kopecks>,
): readonly ReconciliationRow[] {
  return moved.flatMap(({ id, day: date, name, amount, isGift }) => {
    const paid = isGift ? 0 : amount + (refunded.get(id) ?? 0)
    return paid === 0 ? [] : [{ date, name, debit: Math.max(0, -paid), credit: Math.max(0, paid) }]
  })
}

function nameOf({ kind, number, date }: ClosingDocument): string {
  return `${kind === 'act' ? 'Акт' : 'УПД'} № ${number} от ${shortDay(date)}`
}

function documentRows(documents: readonly ClosingDocument[]): readonly ReconciliationRow[] {
  return documents.map(document => ({
    date: document.date,
    name: nameOf(document),
    debit: document.amount,
    credit: 0,
  }))
}

/**
 * The discounts on documents from granted credits, as known on each day: when a used credit is restored by a
 * correction and then debited, the discount ends on that day, and statements of earlier periods do not change.
 */
function discountRows(
  documents: readonly ClosingDocument[],
  moved: Awaited<ReturnType<typeof readMoney>>,
  before: Kopecks,
): readonly ReconciliationRow[] {
  if (!moved.some(one => one.isGift)) return []
  const named = new Map(documents.map(document => [document.date, nameOf(document)]))
  const days = new Set([...named.keys(), ...moved.map(one => one.day)])
  let given = 0
  return [...days].toSorted().flatMap(date => {
    const issued = documents.filter(one => one.date <= date).reduce((sum, one) => sum + one.amount, 0)
    const lots = lotsOf(moved.filter(one => one.day <= date))
    const change = givenOf(lots, before, before + issued) - given
    if (change === 0) return []
    given += change
    const name = named.get(date)
    const what = change > 0 ? 'Скидка' : 'Отмена скидки'
    return [
      {
        date,
        name: name === undefined ? what : `${what} (${name})`,
        debit: Math.max(0, -change),
        credit: Math.max(0, change),
      },
    ]
  })
}

/** The part of granted credits that was spent between two totals of charges. */
function givenOf(lots: readonly Lot[], from: Kopecks, to: Kopecks): Kopecks {
  return spentBetween(lots, from, to).reduce((sum, { lot, amount }) => sum + (lot.isGift ? amount : 0), 0)
}
