import type { IncomingPayment } from '../statements/incoming-payments.ts'
import type { TransferRow } from '../stores/records/document-tables.ts'
import type { RecordReader } from '../stores/records/records.ts'

/** Payments of a file, by their keys, that an earlier file may have held with another purpose. */
interface AlikePayments {
  /** The purpose has the same letters and digits: an export in another charset, or with other quotes. */
  readonly repeated: ReadonlySet<string>
  /** It has others; a person must say whether it is the same payment. */
  readonly alike: ReadonlySet<string>
}

type Stored = Pick<TransferRow, 'id' | 'date' | 'number' | 'amount_kopecks' | 'payer_account' | 'purpose'>

/** The most parameters of one query that both databases take without a thought. */
const daysPerQuery = 500

/** What payments have in common that differ in their purpose alone. */
function groupOf(date: string, number: string, amount: number, payerAccount: string): string {
  return JSON.stringify([date, number, amount, payerAccount])
}

/** A purpose without what exports write differently. */
function plain(purpose: string): string {
  return purpose
    .toLowerCase()
    .replaceAll('ё', 'е')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
}

/**
 * Finds the new payments of a file that differ in their purpose alone from a stored one that the file does not hold. One
 * that the file holds beside them is another payment: the bank's totals say that both came.
 * @param known keys of the file's payments that are stored
 */
export async function findAlike(
  records: RecordReader,
  payments: readonly IncomingPayment[],
  known: ReadonlySet<string>,
): Promise<AlikePayments> {
  const fresh = payments.filter(payment => !known.has(payment.key))
  const absent = new Map<string, Stored[]>()
  for (const row of await storedOn(records, [...new Set(fresh.map(payment => payment.date))])) {
    if (known.has(row.id)) continue
    const group = groupOf(row.date, row.number, row.amount_kopecks, row.payer_account)
    absent.set(group, [...(absent.get(group) ?? []), row])
  }
  const absentOf = ({ date, number, amount, payer }: IncomingPayment): Stored[] =>
    absent.get(groupOf(date, number, amount, payer.account)) ?? []
  const repeated = new Set<string>()
  for (const payment of fresh) {
    const rows = absentOf(payment)
    const same = rows.findIndex(row => plain(row.purpose) === plain(payment.purpose))
    if (same === -1) continue
    rows.splice(same, 1)
    repeated.add(payment.key)
  }
  // Each stored payment stands for one of the file's.
  const others = fresh.filter(payment => !repeated.has(payment.key))
  const alike = others.filter(payment => absentOf(payment).pop() !== undefined)
  return { repeated, alike: new Set(alike.map(payment => payment.key)) }
}

async function storedOn(records: RecordReader, days: readonly string[]): Promise<readonly Stored[]> {
  const found: Stored[] = []
  for (let begin = 0; begin < days.length; begin += daysPerQuery) {
    const rows = await records.all(
      records.build
        .selectFrom('transfers')
        .select(['id', 'date', 'number', 'amount_kopecks', 'payer_account', 'purpose'])
        .where('date', 'in', days.slice(begin, begin + daysPerQuery))
        .orderBy('id'),
    )
    found.push(...rows)
  }
  return found
}
