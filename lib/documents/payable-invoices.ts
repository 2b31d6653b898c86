import type { RecordReader } from '../stores/records/records.ts'
import type { IncomingPayment } from '../statements/incoming-payments.ts'
import type { Payable, PayableInvoice } from '../statements/match-payment.ts'
import { comparableNumber, namedInvoices } from '../statements/named-invoices.ts'
import { CompanyBook } from './company-book.ts'
import type { Invoice } from './document.ts'

/** Reads, before payments are matched, what they may be for: the invoices that they name, and their payers' accounts. */
export async function readPayable(
  records: RecordReader,
  payments: readonly IncomingPayment[],
): Promise<Payable> {
  // Behind a prefix stands the number of the year.
  const numbers = payments.flatMap(payment =>
    namedInvoices(payment.purpose).flatMap(({ number }) => /\d{1,9}$/.exec(number)?.[0] ?? []),
  )
  const invoices = await readInvoices(records, [...new Set(numbers.map(Number))])
  const inns = [...new Set(payments.map(payment => payment.payer.inn))].filter(inn => inn !== '')
  const book = new CompanyBook(records)
  const accounts = new Map<string, readonly string[]>()
  for (const inn of inns) accounts.set(inn, await book.accountsByInn(inn))
  return {
    invoicesByNumber: number => invoices.get(number) ?? [],
    accountsByInn: inn => accounts.get(inn) ?? [],
  }
}

/** The most parameters of one query that both databases take without a thought. */
const batchSize = 500

async function readInvoices(
  records: RecordReader,
  numbers: readonly number[],
): Promise<ReadonlyMap<string, readonly PayableInvoice[]>> {
  const found = new Map<string, PayableInvoice[]>()
  for (let begin = 0; begin < numbers.length; begin += batchSize) {
    const rows = await records.all(
      records.build
        .selectFrom('invoices')
        .selectAll()
        .where('number', 'in', numbers.slice(begin, begin + batchSize)),
    )
    for (const row of rows) {
      const { number } = JSON.parse(row.document) as Invoice
      const key = comparableNumber(number)
      const invoice = {
        id: row.id,
        accountId: row.account_id,
        number,
        date: row.date,
        amount: row.amount_kopecks,
        inn: row.buyer_inn,
        isCancelled: row.cancelled_at !== null,
      }
      found.set(key, [...(found.get(key) ?? []), invoice])
    }
  }
  return found
}
