import type { CompanyDetails } from '../companies/company-details.ts'
import type { Seller, TaxRate } from '../companies/seller.ts'
import { taxOn } from '../companies/seller.ts'
import { formatKopecks, roundToKopecks } from '../money/kopecks.ts'
import type { Kopecks } from '../money/kopecks.ts'
import { chargedUntil } from '../stores/records/ledger-entries.ts'
import type { RecordReader } from '../stores/records/records.ts'
import { readMoney, vatWithin, lotsOf, spentBetween } from './account-money.ts'
import { companyVersions } from './company-versions.ts'
import { csvTable } from './csv-table.ts'
import { dayEnd, dayNumber, lastDay, moscowDay } from '../ledger/moscow-days.ts'
import { shortDay } from './print/printed-text.ts'

/** Money that a company paid ahead, for which a payer of value added tax owes an invoice within five days. */
export interface Advance {
  readonly accountId: string
  readonly buyer: CompanyDetails
  /** ISO day in Moscow. */
  readonly date: string
  /** «Оплата (п/п № 42 от 11.11.2026)». */
  readonly name: string
  /** Without what went back within the month. */
  readonly amount: Kopecks
  readonly rate: Exclude<TaxRate, 'none'>
  readonly vat: Kopecks
  /** What was not used at the end of the month. */
  readonly left: Kopecks
}

/** What companies paid ahead in a month, by day; none of a time in which the seller owes no tax. */
export async function listAdvances(
  records: RecordReader,
  seller: Seller,
  month: string,
): Promise<readonly Advance[]> {
  const last = lastDay(month)
  const companies = await companyVersions(records)
  const charged = await chargedUntil(records, {
    accountsOf: 'companies',
    day: dayNumber(last),
    end: dayEnd(last),
  })
  const advances: Advance[] = []
  for (const first of companies.filter(one => one.version === 1)) {
    const { accountId } = first
    const moved = (await readMoney(records, accountId)).filter(one => one.day <= last)
    const lots = lotsOf(moved)
    const spent = spentBetween(lots, 0, roundToKopecks(charged.get(accountId) ?? 0))
    const used = new Map(spent.map(({ lot, amount }) => [lot.id, amount]))
    const named = new Map(moved.map(one => [one.id, one]))
    for (const { id, net } of lots) {
      const money = named.get(id)
      if (money?.isPayment !== true || net === 0) continue
      const { day: date, name } = money
      const { rate = 'none' } = taxOn(seller.tax, date) ?? {}
      // What was paid before the account was a company's was paid by a person.
      if (!date.startsWith(month) || date < moscowDay(first.since) || rate === 'none') continue
      const { details: buyer } =
        companies.findLast(one => one.accountId === accountId && moscowDay(one.createdAt) <= date) ?? first
      const sums = { amount: net, vat: vatWithin(net, rate), left: net - (used.get(id) ?? 0) }
      advances.push({ accountId, buyer, date, name, rate, ...sums })
    }
  }
  return advances.toSorted((a, b) => a.date.localeCompare(b.date))
}

const columns = [
  'Дата',
  'Покупатель',
  'ИНН',
  'КПП',
  'Основание',
  'Сумма аванса',
  'Расчётная ставка',
  'НДС',
  'Остаток на конец месяца',
  'НДС с остатка',
]

/** Advances as a table for spreadsheets. */
export function advancesTable(advances: readonly Advance[]): string {
  const rows = advances.map(({ date, buyer, name, amount, rate, vat, left }) => [
    shortDay(date),
    buyer.name,
    buyer.inn,
    buyer.kpp ?? '',
    name,
    { number: formatKopecks(amount) },
    // Art. 164, 4 of the tax code: the rate of what holds the tax within.
    `${rate}/${100 + rate}`,
    { number: formatKopecks(vat) },
    { number: formatKopecks(left) },
    { number: formatKopecks(vatWithin(left, rate)) },
  ])
  return csvTable([columns, ...rows])
}
