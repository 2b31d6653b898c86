import { PaymentReader } from '../payments/payment-reader.ts'
import type { SharedOptions } from './add-command.ts'
import { readRecords } from './with-records.ts'

/** Reads payments, beside a running server or without one. */
export function readPayments<T>(
  options: SharedOptions,
  read: (payments: PaymentReader) => Promise<T>,
): Promise<T> {
  return readRecords(options, records => read(new PaymentReader(records)))
}
