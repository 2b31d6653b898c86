import type { Seller } from '../companies/seller.ts'
import { roundToKopecks } from '../money/kopecks.ts'
import type { Kopecks } from '../money/kopecks.ts'
import { chargedUntil } from '../stores/records/charged-until.ts'
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
 * What passed between the seller and an account's company over some days: closing documents against money that came
 * in and went back. What is left of the time before the account was a company's is the first balance. A starting
 * credit is no money: what of it is used stands beside the document as a discount.
 *
 * @throws DocumentError when the account has no company, or the days are the wrong way round
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
  // Whoever sold before settled that with the company.
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
  const { lots, givenBack } = bookMoney(moved)
  const rows = [
    ...documentRows(issued.map(one => one.document).filter(isOwn), lots, before),
    ...moneyRows(
      moved.filter(one => one.day > end),
      givenBack,
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

/** What the buyer owes at the end; negative: what it has paid ahead. */
export function closingBalance({ opening, rows }: ReconciliationStatement): Kopecks {
  return opening + balance(rows)
}

function balance(rows: readonly ReconciliationRow[]): Kopecks {
  return rows.reduce((sum, row) => sum + row.debit - row.credit, 0)
}

/** What was paid and not spent when an account became a company's. */
function paidAhead(moved: Parameters<typeof lotsOf>[0], spent: Kopecks): Kopecks {
  const lots = lotsOf(moved)
  const paid = lots.reduce((sum, lot) => sum + (lot.isGift ? 0 : lot.net), 0)
  return (
    paid - spentBetween(lots, 0, spent).reduce((sum, { lot, amount }) => sum + (lot.isGift ? 0 : amount), 0)
  )
}

/** Money that was paid or went back. What was given never came, and none of it went back when it was taken again. */
function moneyRows(
  moved: Awaited<ReturnType<typeof readMoney>>,
  givenBack: ReadonlyMap<string, Kopecks>,
): readonly ReconciliationRow[] {
  return moved.flatMap(({ id, day: date, name, amount, isGift }) => {
    const paid = isGift ? 0 : amount + (givenBack.get(id) ?? 0)
    return paid === 0 ? [] : [{ date, name, debit: Math.max(0, -paid), credit: Math.max(0, paid) }]
  })
}

/** Each document, and beside it what of it was paid by a gift. */
function documentRows(
  documents: readonly ClosingDocument[],
  lots: readonly Lot[],
  before: Kopecks,
): readonly ReconciliationRow[] {
  let spent = before
  return documents.flatMap(({ kind, number, date, amount }) => {
    const name = `${kind === 'act' ? 'Акт' : 'УПД'} № ${number} от ${shortDay(date)}`
    const parts = spentBetween(lots, spent, spent + amount)
    spent += amount
    const given = parts.reduce((sum, { lot, amount: part }) => sum + (lot.isGift ? part : 0), 0)
    return [
      { date, name, debit: amount, credit: 0 },
      ...(given === 0 ? [] : [{ date, name: `Скидка (${name})`, debit: 0, credit: given }]),
    ]
  })
}
