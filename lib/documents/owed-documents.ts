import { roundToKopecks } from '../money/kopecks.ts'
import type { Kopecks } from '../money/kopecks.ts'
import { chargedUntil } from '../stores/records/charged-until.ts'
import type { RecordReader } from '../stores/records/records.ts'
import { monthAmount } from './arithmetic.ts'
import type { CompanyVersion } from './company-book.ts'
import { dayEnd, dayNumber, lastDay, moscowDay, shiftMonth } from '../ledger/moscow-days.ts'

/** What a company has no document for at the end of a month. */
export interface Owed {
  readonly accountId: string
  /** All that it was charged before and is documented, here or, before it was a company, otherwise. */
  readonly before: Kopecks
  /** Not above zero where there is nothing to document. */
  readonly amount: Kopecks
}

/** The month before an account became a company's: what it used until then was sold to a person. */
export function monthBefore({ since }: Pick<CompanyVersion, 'since'>): string {
  return shiftMonth(moscowDay(since).slice(0, 7), -1)
}

/** What each company has no document for at the end of a month, by account in order. */
export async function owedUntil(
  records: RecordReader,
  companies: readonly CompanyVersion[],
  month: string,
): Promise<readonly Owed[]> {
  const sums = new Map<string, ReadonlyMap<string, number>>()
  const until = async (one: string): Promise<ReadonlyMap<string, number>> => {
    const day = lastDay(one)
    const found =
      sums.get(one) ??
      (await chargedUntil(records, { accountsOf: 'companies', day: dayNumber(day), end: dayEnd(day) }))
    sums.set(one, found)
    return found
  }
  const charged = await until(month)
  const documented = await documentedBefore(records)
  const owed: Owed[] = []
  for (const company of companies.filter(one => one.version === 1)) {
    const { accountId } = company
    const begun = monthBefore(company)
    const base = await until(begun < month ? begun : month)
    const before = roundToKopecks(base.get(accountId) ?? 0) + (documented.get(accountId) ?? 0)
    owed.push({ accountId, before, amount: monthAmount(charged.get(accountId) ?? 0, before) })
  }
  return owed
}

/**
 * Corrections change no sum, so the first issue of each document counts; whoever the seller was, nothing is documented
 * twice.
 */
async function documentedBefore(records: RecordReader): Promise<ReadonlyMap<string, Kopecks>> {
  const rows = await records.all(
    records.build
      .selectFrom('closing_documents')
      .select(one => ['account_id', one.fn.sum<number>('amount_kopecks').as('amount')])
      .where('correction', '=', 0)
      .groupBy('account_id'),
  )
  return new Map(rows.map(row => [row.account_id, Number(row.amount)]))
}
