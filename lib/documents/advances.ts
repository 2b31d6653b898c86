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

/** A prepayment of a company, for which a seller who pays value added tax must issue an invoice within five days. */
export interface Advance {
  readonly accountId: string
  readonly buyer: CompanyDetails
  /** ISO day in Moscow. */
  readonly date: string
  /** «Оплата (п/п № 42 от 11.11.2026)». */
  readonly name: string
  /** Less refunds within the month. */
  readonly amount: Kopecks
  readonly rate: Exclude<TaxRate, 'none'>
  readonly vat: Kopecks
  /** The part not used at the end of the month. */
  readonly left: Kopecks
}

/** Companies' prepayments in a month, by day; none for periods in which the seller owes no tax. */
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
      // Payments before the account belonged to a company were made by a person.
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

/** Advances as a CSV table. */
export function advancesTable(advances: readonly Advance[]): string {
  const rows = advances.map(({ date, buyer, name, amount, rate, vat, left }) => [
    shortDay(date),
    buyer.name,
    buyer.inn,
    buyer.kpp ?? '',
    name,
    { number: formatKopecks(amount) },
    // Tax Code art. 164 p. 4: the calculated rate, for amounts that include the tax.
    `${rate}/${100 + rate}`,
    { number: formatKopecks(vat) },
    { number: formatKopecks(left) },
    { number: formatKopecks(vatWithin(left, rate)) },
  ])
  return csvTable([columns, ...rows])
}
